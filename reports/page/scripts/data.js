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

  // Shapes that differ only in heads and tokens belong to one family; steps, in heads and what lies in the cache.
  const kNamed = ["batch", "tokens", "past", "heads", "head_dim", "kv_heads", "d_in", "d_out", "d_proj", "causal",
    "qkv_bias", "out_proj", "dropout"];
  const familyOf = (shape, contest) => {
    const parts = ["heads of " + shape.head_dim];
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
    return parts.join(", ");
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
      shape, family: familyOf(shape, data.shapes[place]), shapeId: data.shapes[place],
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

  const lines = data.results.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const all = lines.map(cellOf);
  const cells = data.order.map((place) => all[place]);
  const timed = cells.filter((cell) => cell.status === "ok");
  return {
    cells, timed, measured: all, environment: data.environment, raw: data.results,
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

headroom.distinct = (items, key) => {
  const values = [...new Set(items.map(key))];
  return values.every((value) => typeof value === "number") ? values.sort((a, b) => a - b) : values;
};

// The initial selection: the family, tokens, heads and shape with the most data.
headroom.firstSelection = (model) => {
  const timed = model.timed;
  // Of equals what is most exact, which the verdict is about; then the largest number, or what comes last.
  const most = (items, key, value) => {
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
  const family = most(timed, (c) => c.family, (c) => c.shapeId);
  const members = timed.filter((cell) => cell.family === family);
  const based = members.filter((cell) => cell.baseline);
  const heads = Math.max(1, ...timed.map((cell) => cell.shape.heads));
  const widest = timed.filter((cell) => cell.shape.heads === heads);
  return {
    family,
    tokens: most(based.length > 0 ? based : members, (c) => c.tokens, (c) => c.shape.heads),
    heads: most(members, (c) => c.shape.heads, (c) => c.tokens),
    threads: Math.max(1, ...timed.map((cell) => cell.threads)),
    backends: new Set(timed.map((cell) => cell.backend)),
    formulations: new Set(timed.some((c) => c.formulation === "split")
      ? ["split"] : timed.slice(0, 1).map((c) => c.formulation)),
    shape: most(widest, (c) => c.shapeId, (c) => c.id),
    versus: most(widest.filter((c) => c.wrapper), (c) => c.backend, (c) => c.id),
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
