/* SPDX-License-Identifier: MIT */
/* What is told of a frame, at the pointer and to who cannot see it. */

const MARKS = {
  '[truncated]': 'more frames than are recorded: callers are missing here',
  '[broken]': 'the callers could not be found: the stack breaks off here',
  '[stack lost]': 'counted, but its stack found no room',
  '[stack not taken]': 'of calls, only some have their stacks taken',
  '[no frames]': 'counted, but it has no frame',
  '[unknown]': 'counted, but the file has no such stack',
  '[smaller frames]': 'frames too small to be in this page, added up',
};

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className)
    made.className = className;
  if (text !== undefined)
    made.textContent = text;
  return made;
}

class Describer {
  constructor(graph, tip) {
    this.graph = graph;
    this.tip = tip;
  }

  layerWord(layer) {
    const { data } = this.graph;
    if (layer.id)
      return layer.requests ? 'these requests' : 'this request';
    if (layer === data.against)
      return 'the other file';
    return data.against ? 'this file' : 'all samples';
  }

  kindText(node) {
    const { graph } = this;
    if (node === 0)
      return '';
    if (graph.kind(node) === KIND.MARK)
      return MARKS[graph.name(node)] || '';
    if (graph.kind(node) === KIND.PROCESS)
      return 'process';
    if (graph.kind(node) === KIND.INLINED)
      return 'inlined into its caller';
    return `${KIND_WORDS[graph.kind(node)]} code`;
  }

  /* Rows of words: whose, of what, share, value. */
  figures(node) {
    const { graph } = this;
    const unit = graph.data.unit;
    const rows = [];
    for (const layer of graph.other ? [graph.base, graph.other] : [graph.base]) {
      const whose = graph.other ? this.layerWord(layer) : '';
      rows.push([whose, 'total', shareText(shareOf(layer, layer.total[node])),
                 valueText(layer.totalValue[node], unit)]);
      rows.push(['', 'self', shareText(shareOf(layer, layer.self[node])),
                 valueText(layer.selfValue[node], unit)]);
    }
    return rows;
  }

  differenceText(node) {
    const { graph } = this;
    if (!graph.other || node === 0)
      return '';
    if (graph.base.effective < FEW || graph.other.effective < FEW)
      return 'too few samples to tell a difference';
    const { isSure } = graph.difference(node);
    const a = graph.base.total[node] / (graph.base.weight || 1);
    const b = graph.other.total[node] / (graph.other.weight || 1);
    const points = 100 * (a - b);
    const times = a > 0 && b > 0 ? `, ${(a / b).toFixed(2)} times the share` : '';
    return `${points < 0 ? '\u2212' : '+'}${Math.abs(points).toFixed(2)} points${times}; ` +
      (isSure ? 'the intervals do not overlap' : 'the intervals overlap');
  }

  /* One sentence, for a screen reader. */
  sentence(node) {
    const { graph } = this;
    const total = shareText(shareOf(graph.base, graph.base.total[node]));
    return [graph.name(node), this.kindText(node), `total ${total}`,
            this.differenceText(node)].filter(Boolean).join(', ');
  }

  show(node, x, y) {
    const { graph, tip } = this;
    const table = element('table');
    for (const [whose, what, share, value] of this.figures(node)) {
      const row = element('tr');
      if (graph.other)
        row.append(element('th', '', whose));
      row.append(element('td', 'quiet', what), element('td', 'number', share),
                 element('td', 'number quiet', value));
      table.append(row);
    }
    tip.replaceChildren(element('p', 'tip-name', graph.name(node)));
    const place = [this.kindText(node), node > 0 ? graph.binary(node) : '']
      .filter(Boolean).join(' \u00b7 ');
    if (place)
      tip.append(element('p', 'quiet', place));
    tip.append(table);
    const difference = this.differenceText(node);
    if (difference)
      tip.append(element('p', 'difference', difference));
    tip.append(element('p', 'quiet small', graph.base.id
      ? '95 %; of a request, estimated from detail' : graph.other
      ? '95 %, of these recordings; `weft diff` tells what holds beyond them'
      : '95 %, of this recording'));
    tip.hidden = false;
    this.place(x, y);
  }

  place(x, y) {
    const { tip } = this;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 14, window.innerWidth - box.width - 8);
    const below = y + 18 + box.height < window.innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, below ? y + 18 : y - box.height - 12)}px`;
  }

  hide() {
    this.tip.hidden = true;
  }
}
