// The data of a page: deflated, in base 64.
headroom.unpack = async (id) => {
  const digits = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(digits), (digit) => digit.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};
