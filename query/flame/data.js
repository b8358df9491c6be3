/* SPDX-License-Identifier: MIT */
/* From the data within the page to arrays: query/flame/page.c writes it. Nodes
 * stand before their children, so that a subtree is a stretch of numbers and
 * no walk needs recursion. */

const KIND = { USER: 0, KERNEL: 1, INLINED: 2, JIT: 3, MARK: 4, PROCESS: 5 };
const KIND_WORDS = ['user', 'kernel', 'inlined', 'JIT', 'mark', 'process'];

function numbers(text, Type) {
  return text === '' ? new Type(0) : Type.from(text.split(' '), Number);
}

/* What does not show, or makes text run backwards, is shown by its number:
 * names are written by whoever was recorded. */
function shown(name) {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) =>
    '\u2039' + c.codePointAt(0).toString(16).toUpperCase() + '\u203a');
}

function decodeTree(data) {
  const depth = numbers(data.depths, Int32Array);
  const n = depth.length;
  const parent = new Int32Array(n);
  const end = new Int32Array(n); /* one past the last below it */
  const path = [];
  for (let i = 0; i < n; i++) {
    parent[i] = i === 0 ? 0 : path[depth[i] - 1];
    path[depth[i]] = i;
  }
  for (let i = n - 1; i >= 0; i--) {
    end[i] = Math.max(end[i], i + 1);
    if (i > 0)
      end[parent[i]] = Math.max(end[parent[i]], end[i]);
  }
  return {
    n, depth, parent, end,
    frame: numbers(data.frames, Int32Array),
    names: data.names.map(shown),
    kinds: numbers(data.frame_kinds, Uint8Array),
    binaries: data.binaries.map(shown),
    frameBinary: numbers(data.frame_binaries, Int32Array),
  };
}

/* A layer with what each node has, alone (self) and with all below it. Made
 * when it is first shown: a page has hundreds. */
function expand(tree, layer, byValue) {
  if (layer.total)
    return layer;
  const at = numbers(layer.at, Int32Array);
  const values = numbers(layer.values, Float64Array);
  const weights = byValue ? values : numbers(layer.weights, Float64Array);
  layer.self = new Float64Array(tree.n);
  layer.total = new Float64Array(tree.n);
  layer.totalValue = new Float64Array(tree.n);
  layer.selfValue = new Float64Array(tree.n);
  let node = 0;
  for (let i = 0; i < at.length; i++) {
    node += at[i];
    layer.self[node] += weights[i];
    layer.selfValue[node] += values[i];
  }
  layer.total.set(layer.self);
  layer.totalValue.set(layer.selfValue);
  for (let i = tree.n - 1; i > 0; i--) {
    layer.total[tree.parent[i]] += layer.total[i];
    layer.totalValue[tree.parent[i]] += layer.totalValue[i];
  }
  return layer;
}

/* ---- Figures, as the reports of weft print them. */

function countText(count) {
  return Math.round(count).toLocaleString('en-US');
}

function timeText(ns) {
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const size = Math.abs(ns);
  const [unit, word] = units.find(([u]) => size >= u * 0.9995) || units[3];
  const value = ns / unit;
  const decimals = unit === 1 ? 0 : Math.abs(value) < 9.995 ? 2
    : Math.abs(value) < 99.95 ? 1 : 0;
  return value.toFixed(decimals) + ' ' + word;
}

function valueText(value, unit) {
  return unit === 'ns' ? timeText(value) : countText(value);
}

/* A part of a layer: its share with the limits of its interval, or why none
 * is told. k is how many of the layer's samples it stands for. */
function shareOf(layer, weight) {
  const n = layer.effective;
  const share = layer.weight > 0 ? weight / layer.weight : 0;
  const k = share * n;
  const [lo, hi] = shareInterval(k, n);
  return { share, lo, hi, k, n };
}

function percent(share) {
  return (100 * share).toFixed(2);
}

const FEW = 29.5; /* samples, up to rounding: fewer tell no share */

function shareText(s) {
  if (s.n < FEW)
    return `of only ${countText(s.n)} samples: no share can be told`;
  if (s.k === 0)
    return 'none';
  const limits = `${percent(s.lo)} to ${percent(s.hi)} %`;
  if (s.k < 4.5)
    return `at most ${percent(s.hi)} %`;
  return `${percent(s.share)} % (${limits})`;
}
