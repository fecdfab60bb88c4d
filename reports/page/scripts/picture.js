// Draws the charts as SVG under node and writes them to standard output as JSON.
(() => {
  const kWidth = 900;

  const pictureOf = (chart, model, selection, view) => {
    const option = chart.draw(model, selection, view);
    if (option === null) {
      return { title: headroom.shortTitle(chart), reason: chart.empty(model, selection) };
    }
    const canvas = echarts.init(null, null, {
      renderer: "svg", ssr: true, width: kWidth, height: chart.height(model, selection),
    });
    canvas.setOption({ ...option, tooltip: undefined });
    const svg = canvas.renderToSVGString();
    canvas.dispose();
    return { name: chart.name, title: chart.title, note: headroom.noteOf(chart, model, selection), svg };
  };

  let answer;
  try {
    const model = headroom.read(reportData);
    const selection = model.timed.length === 0 ? null : headroom.firstSelection(model);
    const view = { theme: headroom.theme(false), width: kWidth, narrow: false };
    const all = model.timed.length === 0 ? [] : headroom.charts.filter((chart) => !chart.folded)
      .map((chart) => pictureOf(chart, model, selection, view));
    answer = { pictures: all.filter((picture) => picture.svg), missing: all.filter((picture) => picture.reason) };
  } catch (error) {
    answer = { error: String((error && error.stack) || error) };
  }
  // A chart that threw leaves a timer behind, which would keep node running for ever.
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
})();
