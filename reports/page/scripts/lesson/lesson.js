// Builds the page of a lesson from its data.
headroom.unpack("lesson-data").then((lesson) => {
  const fill = (id, parts) => {
    const section = document.getElementById(id);
    if (parts.length === 0) section.remove();
    else section.append(...parts);
    const link = document.querySelector(`nav a[href="#${id}"]`);
    if (parts.length === 0 && link) link.remove();
  };
  const embeddings = lesson.steps.flatMap((step) => step.values).find((value) => value.kind === "embeddings");
  fill("path", [headroom.drawPath(lesson)]);
  fill("tokens", embeddings ? headroom.drawSpace(embeddings) : []);
  fill("heads", headroom.drawHeads(lesson));
  fill("formulations", headroom.drawFormulations(lesson));
  fill("steps", headroom.drawSteps(lesson));
  document.documentElement.dataset.ready = "yes";
}).catch((error) => {
  document.querySelector("main").append(headroom.element("p", { class: "missing", role: "alert" },
    "The lesson could not be drawn: " + error + ". It needs a browser from 2023 or later; headroom explain prints it as text."));
  console.error(error);
});
