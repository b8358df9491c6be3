/* SPDX-License-Identifier: MIT */
/* What is drawn: whose samples, where each frame lies, what is searched for.
 * No drawing here, and no element of the page. */

class Graph {
  constructor(data) {
    this.data = data;
    this.tree = decodeTree(data);
    this.byValue = data.by_value;
    this.everyone = data.everyone;
    this.x = new Float64Array(this.tree.n);
    this.w = new Float64Array(this.tree.n);
    this.zoom = 0;
    this.matches = null;  /* by frame, while something is searched for */
    this.compare(null, data.against || null);
  }

  /* Show a layer (null: everyone) against another (null: none). */
  compare(layer, other) {
    this.base = layer || this.everyone;
    this.other = other;
    expand(this.tree, this.base, this.byValue);
    if (other)
      expand(this.tree, other, this.byValue);
    this.widths = this.base;
    this.place();
  }

  setWidths(layer) {
    this.widths = layer;
    this.place();
  }

  /* From shares to places: 0 to 1, children from the left. */
  place() {
    const { n, parent } = this.tree;
    const total = this.widths.total;
    const all = this.widths.weight || 1;
    const next = new Float64Array(n);
    this.x[0] = 0;
    this.w[0] = total[0] / all;
    for (let i = 1; i < n; i++) {
      const up = parent[i];
      this.x[i] = next[up];
      this.w[i] = total[i] / all;
      next[up] += this.w[i];
      next[i] = this.x[i];
    }
    if (!(this.w[this.zoom] > 0))
      this.zoom = 0;
    this.measure();
  }

  /* How many rows the graph has, as it is zoomed, and how many of them have a
   * frame that is not just a sliver. */
  measure() {
    const { depth, end } = this.tree;
    const sliver = this.w[this.zoom] / 80;
    let most = depth[this.zoom], wide = most;
    for (let i = this.zoom; i < end[this.zoom]; i++) {
      if (this.w[i] > 0 && depth[i] > most)
        most = depth[i];
      if (this.w[i] > sliver && depth[i] > wide)
        wide = depth[i];
    }
    this.rows = most + 1;
    this.wideRows = wide + 1;
  }

  zoomTo(node) {
    this.zoom = this.w[node] > 0 ? node : 0;
    this.measure();
  }

  isAncestor(node, of) {
    return node <= of && of < this.tree.end[node];
  }

  name(node) {
    return node === 0 ? this.rootName() : this.tree.names[this.tree.frame[node]];
  }

  rootName() {
    return this.base.id ? `request ${this.base.id.slice(0, 8)}` : 'all samples';
  }

  kind(node) {
    return this.tree.kinds[this.tree.frame[node]];
  }

  binary(node) {
    return this.tree.binaries[this.tree.frameBinary[this.tree.frame[node]]];
  }

  /* -1 to 1: of everything in both, how much more of this frame the one has
   * than the other; isSure: their intervals do not overlap. */
  difference(node) {
    const a = this.base.total[node] / (this.base.weight || 1);
    const b = this.other.total[node] / (this.other.weight || 1);
    if (Math.abs(a - b) < 1e-9)
      return { by: 0, isSure: false };
    const sa = shareOf(this.base, this.base.total[node]);
    const sb = shareOf(this.other, this.other.total[node]);
    const isApart = sa.lo > sb.hi || sb.lo > sa.hi;
    return {
      by: (a - b) / Math.max(a, b),
      isSure: isApart && sa.n >= FEW && sb.n >= FEW,
    };
  }

  /* The frame at a row and a place, or -1. */
  at(row, x) {
    const { end, depth } = this.tree;
    let node = 0;
    while (depth[node] < row) {
      let child = node + 1;
      while (child < end[node] && !(x < this.x[child] + this.w[child]))
        child = end[child];
      if (child >= end[node] || x < this.x[child])
        return -1;
      node = child;
    }
    return node;
  }

  /* ---- Steps from frame to frame, over those that have a width. */

  children(node) {
    const { end } = this.tree;
    const found = [];
    for (let c = node + 1; c < end[node]; c = end[c])
      if (this.w[c] > 0)
        found.push(c);
    return found;
  }

  beside(node, by) {
    if (node === 0 || this.isAncestor(node, this.zoom))
      return node;
    const all = this.children(this.tree.parent[node]);
    return all[all.indexOf(node) + by] ?? node;
  }

  below(node) {
    if (node !== this.zoom && this.isAncestor(node, this.zoom)) {
      let child = this.zoom;
      while (this.tree.parent[child] !== node)
        child = this.tree.parent[child];
      return child;
    }
    return this.children(node)[0] ?? node;
  }

  /* ---- Search. */

  /* Mark the frames whose name or binary matches; null: none is searched. */
  search(pattern) {
    if (!pattern) {
      this.matches = null;
      return;
    }
    const { names, binaries, frameBinary, kinds } = this.tree;
    this.matches = Uint8Array.from(names, (name, i) =>
      i > 0 && (pattern.test(name) || (kinds[i] !== KIND.PROCESS &&
        pattern.test(binaries[frameBinary[i]]))) ? 1 : 0);
  }

  isMatch(node) {
    return this.matches !== null && node > 0 &&
      this.matches[this.tree.frame[node]] === 1;
  }

  /* What of a layer has a match on its stack; each sample once. */
  matched(layer) {
    const { n, end } = this.tree;
    let weight = 0, frames = 0;
    expand(this.tree, layer, this.byValue);
    for (let i = 0; i < n;) {
      if (this.isMatch(i)) {
        weight += layer.total[i];
        i = end[i];
      } else {
        i++;
      }
    }
    for (let i = 0; i < n; i++)
      frames += this.isMatch(i) && layer.total[i] > 0;
    return { weight, frames };
  }

  /* The same of a layer that need not be expanded: by its own entries. */
  matchedShare(layer) {
    if (!layer.entries) {
      const weights = numbers(this.byValue ? layer.values : layer.weights,
                              Float64Array);
      const at = numbers(layer.at, Int32Array);
      for (let i = 1; i < at.length; i++)
        at[i] += at[i - 1];
      layer.entries = { at, weights };
    }
    if (this.onPathOf !== this.matches) {
      /* Which nodes have a match on the way to them. */
      this.onPath = new Uint8Array(this.tree.n);
      for (let i = 1; i < this.tree.n; i++)
        this.onPath[i] = this.onPath[this.tree.parent[i]] ||
          (this.isMatch(i) ? 1 : 0);
      this.onPathOf = this.matches;
    }
    const { at, weights } = layer.entries;
    let sum = 0;
    for (let i = 0; i < at.length; i++)
      if (this.onPath[at[i]])
        sum += weights[i];
    return layer.weight > 0 ? sum / layer.weight : 0;
  }

  /* Shares of kinds: of which the innermost frame was. */
  kindShares() {
    const shares = new Float64Array(KIND_WORDS.length);
    for (let i = 1; i < this.tree.n; i++)
      shares[this.kind(i)] += this.base.self[i] / (this.base.weight || 1);
    return shares;
  }
}
