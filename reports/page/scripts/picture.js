// Draws the charts as SVG under node and writes them to standard output as JSON.
(() => {
  const kWidth = 900;

  const pictureOf = (chart, model, selection, view) => {
    const option = chart.draw(model, selection, view);
    if (option === null) return [];
    const canvas = echarts.init(null, null, {
      renderer: "svg", ssr: true, width: kWidth, height: chart.height(model, selection),
    });
    canvas.setOption({ ...option, tooltip: undefined });
    const svg = canvas.renderToSVGString();
    canvas.dispose();
    return [{ name: chart.name, title: chart.title, note: headroom.noteOf(chart, model, selection), svg }];
  };

  let answer;
  try {
    const model = headroom.read(reportData);
    const selection = headroom.firstSelection(model);
    const view = { theme: headroom.theme(false), width: kWidth, narrow: false };
    answer = {
      pictures: headroom.charts.filter((chart) => !chart.onPageOnly)
        .flatMap((chart) => pictureOf(chart, model, selection, view)),
    };
  } catch (error) {
    answer = { error: String((error && error.stack) || error) };
  }
  // A chart that threw leaves a timer behind, which would keep node running for ever.
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
})();
