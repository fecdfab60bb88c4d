// A results folder that no machine measured: shapes x backends x formulations, with every field that a
// chart draws from. Usage from a shell: node sample_results.mjs FOLDER [SHAPES]
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { pathToFileURL } from "node:url";

const backends = [["naive", [1], 2], ["autovec", [1], 12], ["xsimd", [1], 70], ["onednn", [1, 2], 60], ["tbb", [1, 2], 75]];
const formulations = { wrapper: 0.7, split: 1, fused: 1.01 };
const kPeak = { 1: 100, 2: 195 };
const kTile = { 1: 90, 2: 175 };

// The same values every time, a few percent apart.
const wobble = (seed, i) => 1 + 0.02 * Math.sin(12.9898 * seed + 78.233 * i);

export const sampleShapes = (count) => Array.from({ length: count }, (_, i) => ({
  heads: [1, 2, 12, 96][i % 4], tokens: [1, 16, 128][Math.floor(i / 4) % 3], head_dim: 8 * (1 + Math.floor(i / 12)),
}));

// Of a machine of 40 W that is throttled once.
const usageOf = (samples, flops) => {
  const kind = (values) => ({ median: [...values].sort((a, b) => a - b)[4], samples: values });
  return {
    energy_j: { ...kind(samples.map((seconds) => 40 * seconds)), idle_share: 0.25 },
    counters: { instructions: kind(samples.map(() => flops / 16)), cycles: kind(samples.map(() => flops / 40)),
      cache_misses: kind(samples.map((_, i) => 100 * i)) },
    throttled: { samples_with_events: 1, samples: samples.map((_, i) => (i === 3 ? 2 : 0)) },
  };
};

const lineOf = (sizes, backend, rate, threads, formulation, seed) => {
  const { heads, tokens, head_dim } = sizes;
  const width = heads * head_dim;
  const flops = 8 * tokens * width * width + 2 * tokens * (tokens + 1) * width;
  const middle = flops / (rate * formulations[formulation] * threads ** 0.9 * 1e9);
  // The two virtual cores were one physical core beside this one.
  const shared = backend === "onednn" && formulation === "split" && threads === 2;
  const samples = Array.from({ length: 9 }, (_, i) => middle * wobble(seed, i));
  const processes = samples.map((_, i) => i);
  const sorted = [...samples].sort((a, b) => a - b);
  const line = {
    schema: "headroom.cell/1", id: `${formulation}/${backend}/f32/t${threads}/B1_T${tokens}_D${width}_H${heads}`,
    status: "ok", reason: null, formulation, backend, precision: "f32", dtype: "f32",
    threads, ranks: 1, isa: "avx2", unit: "none", cache: "warm",
    shape: { batch: 1, tokens, d_in: width, d_out: width, heads, head_dim, causal: true, qkv_bias: false,
      out_proj: true, d_proj: width, dropout: 0 },
    time_s: { median: sorted[4], ci95: [sorted[1], sorted[7]], min: sorted[0], samples, processes },
    flops, gflops: flops * 1e-9 / sorted[4], peak_fraction: flops * 1e-9 / sorted[4] / kPeak[threads],
    tile_fraction: flops * 1e-9 / sorted[4] / kTile[threads],
    control: { kernel: "fma", isa: "avx2", threads,
      gflops: samples.map((_, i) => (shared ? 0.55 : 1) * kPeak[threads] * wobble(seed + 1, i)),
      tile_gflops: samples.map((_, i) => kTile[threads] * wobble(seed + 2, i)) },
    phases_s: { qkv: 0.7 * middle, attend: 0.05 * middle, output: 0.25 * middle },
    setup_s: 0.01, packed_bytes: 16 * width * width, workspace_bytes: 16 * tokens * width,
    provenance: { project: "sample", attend: "sample" },
    error: { nrmse: 5e-8 * Math.sqrt(width), max_over_rms: 1e-6, limit: 5e-6, max_over_rms_limit: 5e-5 },
    checked_rows: { checked: tokens, of: tokens },
  };
  if (backend === "tbb") Object.assign(line, usageOf(samples, flops));
  if (backend === "tbb" && formulation === "split" && threads === 2) {
    line.again = { ratio: wobble(seed, 99), samples, processes, control_gflops: [] };
  }
  return line;
};

const inLessTime = ({ time_s: time, gflops }, faster) => ({
  time_s: { median: time.median / faster, ci95: time.ci95.map((t) => t / faster), min: time.min / faster,
    samples: time.samples.map((t) => t / faster), processes: time.processes },
  gflops: gflops * faster, peak_fraction: null, tile_fraction: undefined, again: undefined,
});

// The same cell, faster and less exact: how much faster, its error and the limit of that.
const kPrecisions = { bf16x6: [2, 1, 5e-6], bf16x3: [1.5, 50, 5e-5], bf16: [5, 1e4, 1e-2] };
const withPrecision = (line, precision) => {
  const [faster, worse, limit] = kPrecisions[precision];
  return {
    ...line, id: line.id.replace("/f32/", "/" + precision + "/"), precision,
    ...inLessTime(line, faster),
    error: { ...line.error, nrmse: line.error.nrmse * worse, limit },
  };
};

// The same cell with weights in fewer bits: how much faster, the error of storing and what it moves.
const kStorages = { q8: [2.6, 6e-3, 0.004], q4: [4, 1e-1, 0.07] };
const withWeights = (line, storage) => {
  const [faster, cost, moved] = kStorages[storage];
  return {
    ...line, id: line.id.replace("/f32/", "/f32-w" + storage + "/"), weights_dtype: storage,
    ...inLessTime(line, faster),
    storage_nrmse: cost, attention_shift: { moved, kl_divergence: moved / 100 },
  };
};

export const writeSampleResults = (folder, shapes = sampleShapes(12)) => {
  mkdirSync(folder, { recursive: true });
  let seed = 0;
  const lines = shapes.flatMap((sizes) => backends.flatMap(([backend, counts, rate]) =>
    counts.flatMap((threads) => Object.keys(formulations).map((formulation) =>
      lineOf(sizes, backend, rate, threads, formulation, ++seed)))));
  // Of one shape only, which the chart of precisions has to find.
  const exact = lines.filter((line) => line.backend === "tbb" && line.formulation === "split" && line.threads === 2).at(-1);
  lines.push(...Object.keys(kPrecisions).map((precision) => withPrecision(exact, precision)));
  lines.push(...Object.keys(kStorages).map((storage) => withWeights(exact, storage)));
  const skipped = { ...lines.find((line) => line.backend === "autovec"), status: "skipped", reason: "needs 3 TiB of 1" };
  for (const key of ["time_s", "flops", "gflops", "peak_fraction", "tile_fraction", "control", "phases_s", "error"]) delete skipped[key];
  lines[lines.findIndex((line) => line.id === skipped.id)] = skipped;
  writeFileSync(join(folder, "results.jsonl"), lines.map((line) => JSON.stringify(line) + "\n").join(""));
  writeFileSync(join(folder, "environment.json"), JSON.stringify({
    schema: "headroom.environment/1", headroom: "0", time: "2026-01-31T12:00:00Z", isa: "avx2",
    processor: { name: "Sample", architecture: "x86_64", caches: [{ name: "L3", bytes: 1 << 20, count: 1 }] },
    allowed_cores: 2, backends: backends.map(([name]) => ({ name, description: "sample", library: "" })),
    peaks: { fma_gflops_by_threads: kPeak, tile_gflops_by_threads: kTile,
      gflops_by_precision_and_threads: { bf16: { 1: 700, 2: 1400 } }, read_gb_per_s_by_threads: { 1: 20, 2: 30 } },
    sweep: { cells: lines.length, identity: { axes: { preset: "sample" } } }, warnings: [],
  }));
  return folder;
};

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  writeSampleResults(argv[2], sampleShapes(Number(argv[3] || 12)));
}
