// The cells as the charts need them: the raw line and the findings of the program.
headroom.read = (data) => {
  headroom.theme.order(data.backends);
  headroom.theme.setPeers(data.peers || []);
  const versus = (item) =>
    item && { ratio: item[0], low: item[1], high: item[2], verdict: item[3] };

  // Such as "bf16x6", "bf16-bf16" where bf16 is stored, or "f32-wq8-cq8" where weights and cache are stored
  // otherwise; empty for f32. Old folders have only that.
  const numbersOf = (line) => {
    const precision = line.precision || "f32";
    const stored = (line.dtype && line.dtype !== "f32" ? "-" + line.dtype : "") +
      (line.weights_dtype ? "-w" + line.weights_dtype : "") + (line.cache_dtype ? "-c" + line.cache_dtype : "");
    return precision === "f32" && !stored ? "" : precision + stored;
  };

  // Shapes that differ only in heads and tokens (steps: in heads and the length of the cache) belong to two families: that of
  // their head width, where more heads make a wider layer, and that of the layer's width, where they make narrower heads.
  const kNamed = ["batch", "tokens", "past", "heads", "head_dim", "kv_heads", "d_in", "d_out", "d_proj", "causal",
    "qkv_bias", "out_proj", "dropout"];
  const familiesOf = (shape, contest) => {
    const parts = [];
    if (shape.past > 0) parts.push("steps of " + headroom.format.count(shape.tokens, "token"));
    if (shape.kv_heads > 0) parts.push(shape.heads / shape.kv_heads + " heads to a key head");
    if (shape.batch !== 1) parts.push("batch " + shape.batch);
    if (shape.d_in !== shape.d_out) parts.push("input " + shape.d_in);
    if (!shape.causal) parts.push("no mask");
    if (shape.qkv_bias) parts.push("bias");
    if (!shape.out_proj) parts.push("no output projection");
    else if (shape.d_proj !== undefined && shape.d_proj !== shape.d_in) {
      parts.push("output " + shape.d_proj);
    }
    if (shape.dropout > 0) parts.push("dropout " + shape.dropout);
    // Whatever else a layer or a call may have: never two such shapes on one line.
    for (const [name, value] of Object.entries(shape)) {
      if (kNamed.includes(name) || value === false) continue;
      const values = typeof value === "object" ? Object.values(value).flat() : value === true ? [] : [value];
      parts.push([name.replaceAll("_", " "), ...values.slice(0, 8)].join(" ") + (values.length > 8 ? " ..." : ""));
    }
    if (contest.includes(" ")) parts.push(contest.slice(contest.indexOf(" ") + 1));
    return ["heads of " + shape.head_dim, "width " + shape.d_out].map((name) => [name, ...parts].join(", "));
  };

  const cellOf = (line, place) => {
    const found = data.findings[place];
    const shape = line.shape;
    const ranks = line.ranks || 1;
    const how = [numbersOf(line), ranks > 1 ? "r" + ranks : ""].filter(Boolean).join(" ");
    return {
      id: line.id, peer: headroom.theme.isPeer(line.backend), place, status: line.status, reason: line.reason,
      numbers: numbersOf(line) || "f32", stored: line.storage_nrmse, shift: line.attention_shift,
      way: line.backend + "/" + line.formulation + (how && " " + how),
      overF32: found && versus(found.over_f32), front: found && found.front,
      backend: line.backend, formulation: line.formulation, threads: line.threads, ranks, isa: line.isa,
      shape, families: familiesOf(shape, data.shapes[place]), shapeId: data.shapes[place],
      // Its place on an axis of tokens; `format.tokens` says it in words.
      tokens: shape.past > 0 ? shape.past : shape.tokens, exact: !data.shapes[place].includes(" "),
      time: line.time_s && {
        median: line.time_s.median, low: line.time_s.ci95[0], high: line.time_s.ci95[1],
        min: line.time_s.min, samples: line.time_s.samples,
      },
      gflops: line.gflops, peak: line.peak_fraction, tile: line.tile_fraction,
      control: line.control, again: line.again,
      energy: line.energy_j, counters: line.counters, throttled: line.throttled,
      phases: line.phases_s, setup: line.setup_s, error: line.error,
      provenance: line.provenance, warnings: line.warnings || [],
      baseline: found && versus(found.baseline), wrapper: found && versus(found.wrapper),
      fastest: found && versus(found.fastest),
      intensity: found && found.flops_per_byte, share: found && found.share,
      limit: found && found.limit, above: found && found.above, cores: found && found.cores,
    };
  };

  // Those that hold shapes which no other holds all of, as one of a single width whose heads are all as wide does not; and
  // no single shape, unless there is nothing else.
  const familiesWith = (timed) => {
    const shapes = new Map();
    for (const cell of timed) {
      for (const name of cell.families) shapes.set(name, (shapes.get(name) || new Set()).add(cell.shapeId));
    }
    const all = [...shapes];
    const within = (a, b) => [...a].every((shape) => b.has(shape));
    const own = all.filter(([, mine], i) => !all.some(([, other], k) =>
      k !== i && within(mine, other) && (other.size > mine.size || k < i)));
    const several = own.filter(([, mine]) => mine.size > 1);
    return (several.length > 0 ? several : own).map(([name]) => name);
  };

  const lines = data.results.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const all = lines.map(cellOf);
  const cells = data.order.map((place) => all[place]);
  const timed = cells.filter((cell) => cell.status === "ok");
  return {
    cells, timed, families: familiesWith(timed), measured: all, environment: data.environment, raw: data.results,
    focus: data.focus,
    baseline: data.baseline, noiseFloor: data.noise_floor, margin: data.margin,
    peaks: data.roofs || {},
  };
};

// The note of a chart that may have lines of peers.
headroom.noteOf = (chart, model, selection) => {
  const drawn = chart.uses.includes("backends") &&
    model.timed.some((cell) => cell.peer && selection.backends.has(cell.backend));
  return chart.note(model, selection) +
    (drawn ? " Crosses and thin lines of dashes and dots: other libraries." : "");
};

// Without what it explains, where others are listed beside it.
headroom.shortTitle = (chart) => chart.title.replace(/:.*/, "");

headroom.distinct = (items, key) => {
  const values = [...new Set(items.map(key))];
  return values.every((value) => typeof value === "number") ? values.sort((a, b) => a - b) : values;
};

// The name with the most different values; of equals what is most exact, which the verdict is about; then the largest
// number, or what comes last.
headroom.most = (items, key, value) => {
  const seen = new Map();
  for (const item of items) {
    if (!seen.has(key(item))) seen.set(key(item), { name: key(item), values: new Set(), exact: false });
    const entry = seen.get(key(item));
    entry.values.add(value(item));
    entry.exact = entry.exact || item.exact;
  }
  return [...seen.values()].reduce((best, entry) => {
    if (best === undefined) return entry;
    const more = entry.values.size - best.values.size || entry.exact - best.exact;
    const smaller = typeof entry.name === "number" && entry.name < best.name;
    return more > 0 || (more === 0 && !smaller) ? entry : best;
  }, undefined)?.name;
};

// The tokens and heads of a family with the most data: for the first picture, else for the second. Of equals, the fewest
// tokens of a layer of one width, where the sentence above the pictures begins as well; else the most.
headroom.startOf = (model, family) => {
  const members = model.timed.filter((cell) => cell.families.includes(family));
  const [first] = [members.filter((cell) => cell.wrapper), members.filter((cell) => cell.baseline), members]
    .filter((cells) => cells.length > 0);
  const sign = family.startsWith("width ") ? -1 : 1;
  return {
    tokens: sign * headroom.most(first, (c) => sign * c.tokens, (c) => c.shape.heads),
    heads: headroom.most(members, (c) => c.shape.heads, (c) => c.tokens),
  };
};

// The initial selection. The first question is best answered at one width, where the work is the same for all heads: such a
// family with the most heads, else the family with the most shapes, and of equals what is most exact, or comes first.
headroom.firstSelection = (model) => {
  const { timed } = model;
  const weigh = (name) => {
    const members = timed.filter((cell) => cell.families.includes(name));
    const { tokens } = headroom.startOf(model, name);
    const heads = headroom.distinct(members.filter((cell) => cell.wrapper && cell.tokens === tokens), (cell) => cell.shape.heads);
    return [name.startsWith("width ") && heads.length > 1 ? heads.length : 0,
      headroom.distinct(members, (cell) => cell.shapeId).length, members.some((cell) => cell.exact)];
  };
  const heavier = (a, b) => {
    const i = a.findIndex((value, k) => value !== b[k]);
    return i >= 0 && a[i] > b[i];
  };
  const family = model.families.reduce((best, name) => heavier(weigh(name), weigh(best)) ? name : best, model.families[0]);
  const heads = Math.max(1, ...timed.map((cell) => cell.shape.heads));
  const widest = timed.filter((cell) => cell.shape.heads === heads);
  return {
    family, ...headroom.startOf(model, family),
    threads: Math.max(1, ...timed.map((cell) => cell.threads)),
    backends: new Set(timed.map((cell) => cell.backend)),
    formulations: new Set(timed.some((c) => c.formulation === "split")
      ? ["split"] : timed.slice(0, 1).map((c) => c.formulation)),
    // What the headline speaks of.
    shape: timed.some((cell) => cell.shapeId === model.focus)
      ? model.focus : headroom.most(widest, (c) => c.shapeId, (c) => c.id),
    cell: undefined,
  };
};

// The cells of the selected backends and formulations, each on the most threads that the selection
// allows.
headroom.chosen = (model, selection, wanted) => {
  const open = model.timed.filter((cell) =>
    selection.backends.has(cell.backend) && selection.formulations.has(cell.formulation) &&
    cell.threads <= selection.threads && wanted(cell));
  const most = new Map();
  const key = (cell) => cell.way + "\n" + cell.shapeId;
  for (const cell of open) {
    most.set(key(cell), Math.max(most.get(key(cell)) || 0, cell.threads));
  }
  return open.filter((cell) => cell.threads === most.get(key(cell)));
};

// The same for charts over the number of heads: of the family and the tokens that are chosen.
headroom.chosenByHeads = (model, selection, wanted) => headroom.chosen(model, selection, (cell) =>
  cell.families.includes(selection.family) && cell.tokens === selection.tokens && wanted(cell));

// One list of cells per line of a chart.
headroom.lines = (cells, x) => {
  const lines = new Map();
  for (const cell of cells) {
    const key = cell.way;
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push(cell);
  }
  for (const line of lines.values()) line.sort((a, b) => x(a) - x(b));
  return lines;
};
