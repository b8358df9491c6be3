/* SPDX-License-Identifier: MIT */
/* The list of requests below the graph. */

const ROWS_MAX = 400;

class Requests {
  constructor(graph, parts, pick) {
    Object.assign(this, { graph }, parts);
    this.pick = pick;
    this.all = graph.data.traces;
    this.sortBy = 'cpu';
    this.chosen = null;
    this.hasSpans = this.all.some((t) => t.name || t.service);
    this.longest = Math.max(1, ...this.all.map((t) => t.estimate_hi));
    this.filter.addEventListener('input', () => this.list());
    this.describe();
    this.list();
  }

  describe() {
    const { traces_in_all: inAll } = this.graph.data;
    const single = this.all.filter((t) => !t.requests).length;
    const rest = inAll - single;
    this.none.hidden = this.all.length > 0;
    this.table.hidden = this.all.length === 0;
    this.filter.parentElement.hidden = this.all.length === 0;
    if (this.all.length === 0) {
      this.none.textContent = inAll > 0
        ? 'This page was made without requests to pick from.'
        : 'No sample here carries a trace ID. `weft loss` shows how reading ' +
          'them ended; `weft doctor --pid PID` says why a process tells none.';
      return;
    }
    this.about.textContent = 'Pick one, and the graph shows its samples ' +
      'against those of all.' + (rest > 0
        ? ` ${countText(single)} of ${countText(inAll)}: those with ` +
          'most CPU time.' : '');
  }

  columnsNow() {
    const columns = [
      ['name', this.hasSpans ? 'Request' : 'Trace ID', false],
      ['duration', this.hasSpans ? 'Duration' : 'First to last sample', true],
      ['samples', 'Samples', true],
      ['cpu', this.graph.data.unit === 'ns' ? 'Time, 95 %' : 'Estimate, 95 %', true],
    ];
    if (this.graph.matches !== null)
      columns.push(['match', 'Matched', true]);
    return columns;
  }

  duration(trace) {
    return trace.duration_ns ?? trace.extent_ns ?? Infinity;
  }

  key(trace) {
    switch (this.sortBy) {
    case 'duration': return this.duration(trace);
    case 'samples': return trace.samples;
    case 'match': return this.graph.matchedShare(trace);
    default: return trace.estimate_lo;
    }
  }

  sorted() {
    const word = this.filter.value.trim().toLowerCase();
    const found = this.all.filter((t) => [t.id, t.name, t.service, t.status]
      .some((text) => text && text.toLowerCase().includes(word)));
    const label = (t) => `${t.service || ''} ${t.name || ''} ${t.id}`;
    if (this.sortBy === 'name')
      found.sort((a, b) => label(a) < label(b) ? -1 : 1);
    else
      found.sort((a, b) => this.key(b) - this.key(a) || b.estimate - a.estimate);
    /* All of them as one stand before each of them. */
    return found.filter((t) => t.requests).concat(found.filter((t) => !t.requests));
  }

  head() {
    this.columns.replaceChildren(...this.columnsNow().map(([id, text, isNumber]) => {
      const cell = element('th', isNumber ? 'number' : '');
      const button = element('button', 'plain', text);
      cell.scope = 'col';
      if (this.sortBy === id)
        cell.setAttribute('aria-sort', id === 'name' ? 'ascending' : 'descending');
      button.type = 'button';
      button.addEventListener('click', () => {
        this.sortBy = id;
        this.list();
        this.columns.children[[...this.columnsNow()].findIndex(([c]) => c === id)]
          .firstChild.focus();
      });
      cell.append(button);
      return cell;
    }));
  }

  bar(trace) {
    const cell = element('td', 'number cpu');
    const unit = this.graph.data.unit;
    const track = element('span', 'track');
    const part = (v) => `${(100 * v / this.longest).toFixed(2)}%`;
    const range = element('span', 'interval');
    const dot = element('span', 'estimate');
    range.style.left = part(trace.estimate_lo);
    range.style.width = part(trace.estimate_hi - trace.estimate_lo);
    dot.style.left = part(trace.estimate);
    track.append(range, dot);
    cell.append(element('span', '', valueText(trace.estimate, unit)),
                element('span', 'quiet limits', `${valueText(trace.estimate_lo, unit)} \u2013 ` +
                  valueText(trace.estimate_hi, unit)), track);
    return cell;
  }

  row(trace) {
    const row = element('tr');
    const name = element('td', 'name');
    const button = element('button', 'pick');
    const isChosen = this.chosen === trace;
    const id = element('span', 'id', trace.requests ? shown(trace.id)
      : trace.name ? trace.id.slice(0, 8) : trace.id);
    button.type = 'button';
    button.setAttribute('aria-pressed', String(isChosen));
    button.title = shown(trace.id);
    if (trace.name) {
      button.append(element('span', '', shown(trace.name)));
      if (trace.service)
        button.append(element('span', 'quiet', ` ${shown(trace.service)}`));
      if (trace.status === 'error')
        button.append(element('span', 'error', 'error'));
    }
    if (trace.requests)
      button.append(element('span', '', `All ${countText(trace.requests)}, each on average`));
    button.append(id);
    button.addEventListener('click', () => this.pick(isChosen ? null : trace));
    name.append(button);
    row.classList.toggle('chosen', isChosen);
    row.append(name, element('td', 'number', trace.requests ? '' : timeText(this.duration(trace))),
               element('td', 'number', countText(trace.samples)), this.bar(trace));
    if (this.graph.matches !== null)
      row.append(element('td', 'number', `${percent(this.graph.matchedShare(trace))} %`));
    return row;
  }

  list() {
    const found = this.sorted();
    const active = this.rows.contains(document.activeElement);
    if (this.sortBy === 'match' && this.graph.matches === null)
      this.sortBy = 'cpu';
    this.head();
    this.rows.replaceChildren(...found.slice(0, ROWS_MAX).map((t) => this.row(t)));
    this.more.hidden = found.length > 0 && found.length <= ROWS_MAX ||
      this.all.length === 0;
    this.more.textContent = found.length === 0 ? 'No request is so.'
      : `${countText(found.length - ROWS_MAX)} more; filter to see them.`;
    if (active)
      this.rows.querySelector('[aria-pressed=true]')?.focus();
  }

  choose(trace) {
    this.chosen = trace;
    this.list();
  }
}
