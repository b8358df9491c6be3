/* SPDX-License-Identifier: MIT */
/* The canvas: as large as what is to be seen of the graph, however deep that
 * is. Only frames that can be seen are visited: a subtree narrower than half
 * a pixel is passed over as a whole. */

const ROW = 21;
const LEAST_PX = 0.5;
const TEXT_FROM_PX = 26;

class Drawing {
  constructor(graph, colours, parts) {
    Object.assign(this, { graph, colours }, parts);
    this.isUpright = false;
    this.focus = 0;
    this.hover = -1;
    this.range = [0, 1];
    this.widthOf = new Map(); /* of texts */
    this.scroll.addEventListener('scroll', () => this.later());
    new ResizeObserver(() => this.resize()).observe(this.scroll);
  }

  /* ---- Places. */

  rowTop(row) {
    const rows = Math.max(this.graph.rows, Math.floor(this.heightPx / ROW));
    return (this.isUpright ? rows - 1 - row : row) * ROW;
  }

  rowAt(y) {
    const rows = Math.max(this.graph.rows, Math.floor(this.heightPx / ROW));
    const row = Math.floor(y / ROW);
    return this.isUpright ? rows - 1 - row : row;
  }

  /* Where a frame is drawn, in pixels of the canvas's width: of those outside
   * of the zoomed one all of it. */
  span(node) {
    if (this.graph.isAncestor(node, this.graph.zoom))
      return [0, this.widthPx];
    const [lo, hi] = this.range;
    const scale = this.widthPx / (hi - lo);
    const from = (this.graph.x[node] - lo) * scale;
    return [from, from + this.graph.w[node] * scale];
  }

  nodeAt(x, y) {
    const row = this.rowAt(y + this.scroll.scrollTop);
    const { graph } = this;
    if (row < 0 || row >= graph.rows)
      return -1;
    if (row <= graph.tree.depth[graph.zoom]) {
      let node = graph.zoom;
      while (graph.tree.depth[node] > row)
        node = graph.tree.parent[node];
      return node;
    }
    const [lo, hi] = this.range;
    return graph.at(row, lo + x / this.widthPx * (hi - lo));
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const most = Math.max(240, Math.round(window.innerHeight * 0.62));
    this.widthPx = this.scroll.clientWidth;
    this.heightPx = Math.min(most, Math.max(this.graph.wideRows + 1, 12) * ROW,
                             Math.max(this.graph.rows, 6) * ROW);
    this.scroll.style.height = `${this.heightPx}px`;
    this.height.style.height = `${Math.max(this.graph.rows * ROW, this.heightPx)}px`;
    this.canvas.width = Math.round(this.widthPx * ratio);
    this.canvas.height = Math.round(this.heightPx * ratio);
    this.canvas.style.width = `${this.widthPx}px`;
    this.canvas.style.height = `${this.heightPx}px`;
    this.ratio = ratio;
    this.draw();
  }

  toRoot() {
    this.scroll.scrollTop = this.isUpright ? this.scroll.scrollHeight : 0;
  }

  /* ---- When. */

  later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  /* Glide to what the graph is zoomed to, unless the reader wants no motion. */
  glide() {
    const { graph } = this;
    const from = this.range;
    const to = [graph.x[graph.zoom], graph.x[graph.zoom] + graph.w[graph.zoom]];
    const began = performance.now();
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const step = (now) => {
      const t = still ? 1 : Math.min(1, (now - began) / 180);
      const eased = 1 - (1 - t) ** 3;
      this.range = [0, 1].map((i) => from[i] + (to[i] - from[i]) * eased);
      this.draw();
      this.gliding = t < 1 ? requestAnimationFrame(step) : null;
    };
    cancelAnimationFrame(this.gliding);
    step(began);
  }

  /* ---- What. */

  draw() {
    const { graph, ctx } = this;
    const { n, depth, end } = graph.tree;
    const [lo, hi] = this.range;
    const scale = this.widthPx / (hi - lo);
    const zoomDepth = depth[graph.zoom];
    const top = this.scroll.scrollTop;
    const began = performance.now();
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.widthPx, this.heightPx);
    ctx.font = '12px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    this.drawn = 0;
    for (let i = 0; i < n;) {
      const isOuter = graph.isAncestor(i, graph.zoom);
      const from = isOuter ? 0 : (graph.x[i] - lo) * scale;
      const width = isOuter ? this.widthPx : graph.w[i] * scale;
      if (width < LEAST_PX || from > this.widthPx || from + width < 0 ||
          (!isOuter && depth[i] <= zoomDepth)) {
        i = end[i];
        continue;
      }
      const y = this.rowTop(depth[i]) - top;
      if (y > -ROW && y < this.heightPx)
        this.frame(i, Math.max(from, 0), y,
                   Math.min(from + width, this.widthPx) - Math.max(from, 0),
                   isOuter && i !== graph.zoom);
      i++;
    }
    this.lastMs = performance.now() - began;
  }

  frame(node, x, y, width, isOuter) {
    const { ctx, colours, graph } = this;
    const gap = width > 3 ? 1 : 0;
    const isMatch = graph.isMatch(node);
    const isFaint = graph.matches !== null && !isMatch;
    this.drawn++;
    ctx.globalAlpha = isOuter ? 0.55 : isFaint ? 0.4 : 1;
    ctx.fillStyle = colours.of(node);
    ctx.fillRect(x, y, width - gap, ROW - 1);
    if (node > 0 && graph.kind(node) === KIND.MARK)
      this.hatch(x, y, width - gap);
    ctx.globalAlpha = 1;
    if (width > TEXT_FROM_PX) {
      ctx.fillStyle = isMatch ? colours.matchText
        : isFaint || isOuter ? colours.faint : colours.text;
      this.label(graph.name(node), x + 5, y + ROW / 2, width - 10);
    }
    if (node === this.focus && this.hasFocus)
      this.outline(x, y, width - gap, 2);
    else if (node === this.hover)
      this.outline(x, y, width - gap, 1);
  }

  /* What is no frame looks like none. */
  hatch(x, y, width) {
    const { ctx } = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, width, ROW - 1);
    ctx.clip();
    ctx.strokeStyle = this.colours.faint;
    ctx.globalAlpha *= 0.35;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    for (let at = Math.floor(x / 8) * 8 - ROW; at < x + width; at += 8) {
      ctx.moveTo(at, y + ROW);
      ctx.lineTo(at + ROW, y);
    }
    ctx.stroke();
    ctx.restore();
  }

  outline(x, y, width, size) {
    const { ctx } = this;
    ctx.strokeStyle = this.colours.focus;
    ctx.lineWidth = size;
    ctx.strokeRect(x + size / 2, y + size / 2, Math.max(width - size, 1), ROW - 1 - size);
  }

  textWidth(text) {
    let width = this.widthOf.get(text);
    if (width === undefined) {
      width = this.ctx.measureText(text).width;
      this.widthOf.set(text, width);
    }
    return width;
  }

  /* As much of a name as there is room for. */
  label(name, x, y, room) {
    const text = name.length > 400 ? name.slice(0, 400) : name;
    const full = this.textWidth(text);
    if (full <= room) {
      this.ctx.fillText(text, x, y);
      return;
    }
    let fits = Math.floor(text.length * room / full);
    let cut = '';
    do
      cut = text.slice(0, fits) + '\u2026';
    while (fits-- > 1 && this.ctx.measureText(cut).width > room);
    if (fits > 0)
      this.ctx.fillText(cut, x, y);
  }

  /* Scroll so that a frame's row can be seen. */
  reveal(node) {
    const y = this.rowTop(this.graph.tree.depth[node]);
    if (y < this.scroll.scrollTop)
      this.scroll.scrollTop = y;
    else if (y + ROW > this.scroll.scrollTop + this.heightPx)
      this.scroll.scrollTop = y + ROW - this.heightPx;
  }
}
