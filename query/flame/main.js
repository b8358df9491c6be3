/* SPDX-License-Identifier: MIT */
/* The page: which element does what, and its state, of which the part that is
 * worth sending to somebody stands in the address after the #. */

const $ = (id) => document.getElementById(id);
const THEMES = ['auto', 'light', 'dark'];

class Page {
  constructor(data) {
    const canvas = $('canvas');
    this.data = data;
    this.graph = new Graph(data);
    this.colours = new Colours(this.graph);
    this.drawing = new Drawing(this.graph, this.colours, {
      canvas, ctx: canvas.getContext('2d'), scroll: $('scroll'), height: $('height'),
    });
    this.describer = new Describer(this.graph, $('tip'));
    this.requests = new Requests(this.graph, {
      rows: $('rows'), columns: $('columns'), filter: $('filter'), more: $('requests-more'),
      none: $('requests-none'), about: $('requests-about'), table: $('table'),
    }, (trace) => this.pick(trace));
    this.theme = 'auto';
    this.heading();
    this.listen();
    this.restore();
    this.setTheme(this.theme);
  }

  heading() {
    const { data } = this;
    const file = (path) => shown(path).replace(/.*\//, '');
    const title = data.against
      ? `${file(data.everyone.file)} against ${file(data.against.file)}` : file(data.everyone.file);
    const facts = [data.event, timeText(data.everyone.length_ns),
                   `${data.cpus} ${data.cpus === 1 ? 'CPU' : 'CPUs'}`,
                   `${countText(data.everyone.samples)} samples`, data.everyone.started];
    if (data.delivered_hz)
      facts.splice(3, 0, `${Math.round(data.delivered_hz)} Hz`);
    if (data.pid)
      facts.push(`pid ${data.pid}`);
    if (!data.whole_recording)
      facts.push('a part of the recording');
    if (!data.ended)
      facts.push('still recording, or cut short');
    document.title = `${title} \u2013 weft flame`;
    $('title').textContent = title;
    $('facts').textContent = facts.map(shown).join(' \u00b7 ');
    $('quality').textContent = `Stacks: ${data.stacks}.` + (data.nodes_folded
      ? ` ${countText(data.nodes_folded)} frames are too small to be in this page; ` +
        'their samples stand under [smaller frames].' : '');
    const losses = [data.everyone, data.against].filter((r) => r && r.loss)
      .map((r) => data.against ? `${file(r.file)}: ${r.loss}` : r.loss);
    $('loss').hidden = losses.length === 0;
    $('loss').textContent = losses.join('\n').split('\n').map(shown).join('\n');
  }

  /* ---- What is shown. */

  pick(trace, keep) {
    this.graph.compare(trace, trace ? this.data.everyone : this.data.against || null);
    this.requests.choose(trace);
    this.comparing();
    this.legend();
    this.found();
    if (!keep)
      this.zoomTo(this.graph.zoom);
  }

  comparing() {
    const { graph, data } = this;
    const isTrace = Boolean(graph.base.id);
    $('comparing').hidden = !graph.other;
    $('uncompare').hidden = !isTrace;
    if (!graph.other)
      return;
    const { requests } = graph.base;
    const who = requests ? `${countText(requests)} requests with` : 'Request';
    $('comparing-what').textContent = isTrace
      ? `${who} ${shown(graph.base.id)}: ${countText(graph.base.samples)} samples, against everyone's`
      : `Against ${shown(data.against.file)}: ${countText(data.against.samples)} samples`;
    $('widths-this').textContent = requests ? 'their widths' : isTrace ? 'its widths' : 'widths of this file';
    $('widths-other').textContent = isTrace ? 'everyone\u2019s widths' : 'of the other';
    this.pressWidths();
  }

  pressWidths() {
    const isOther = this.graph.widths === this.graph.other;
    $('widths-this').setAttribute('aria-pressed', String(!isOther));
    $('widths-other').setAttribute('aria-pressed', String(isOther));
  }

  setWidths(layer) {
    this.graph.setWidths(layer);
    this.pressWidths();
    this.zoomTo(this.graph.zoom);
  }

  legend() {
    const { graph, colours } = this;
    const entry = (text, colour) => {
      const item = element('li');
      const swatch = element('span', 'swatch');
      swatch.style.background = colour;
      item.append(swatch, element('span', '', text));
      return item;
    };
    const items = [];
    if (graph.other) {
      items.push(entry('less', colours.ofDifference({ by: -1, isSure: true })),
                 entry('more', colours.ofDifference({ by: 1, isSure: true })),
                 entry('intervals overlap', colours.ofDifference({ by: 1, isSure: false })));
    } else {
      graph.kindShares().forEach((share, kind) => {
        if (kind !== KIND.PROCESS && share > 0)
          items.push(entry(`${KIND_WORDS[kind] === 'mark' ? 'no frame' : KIND_WORDS[kind]} ` +
            `${percent(share)} %`, colours.ofKind(kind, 0x808080)));
      });
    }
    $('legend').replaceChildren(...items);
  }

  zoomTo(node) {
    const { graph, drawing } = this;
    graph.zoomTo(node);
    this.setFocus(graph.isAncestor(graph.zoom, drawing.focus) && graph.w[drawing.focus] > 0
      ? drawing.focus : graph.zoom, true);
    $('unzoom').hidden = graph.zoom === 0;
    drawing.resize();
    drawing.glide();
    this.remember();
  }

  setDirection(isUpright) {
    this.drawing.isUpright = isUpright;
    $('icicle').setAttribute('aria-pressed', String(!isUpright));
    $('upright').setAttribute('aria-pressed', String(isUpright));
    this.drawing.resize();
    this.drawing.toRoot();
    this.drawing.draw();
    this.remember();
  }

  search(text) {
    let pattern = null;
    $('search').setCustomValidity('');
    try {
      pattern = text === '' ? null : new RegExp(text, 'iu');
    } catch (error) {
      $('search').setCustomValidity(error.message);
    }
    $('search').setAttribute('aria-invalid', String(text !== '' && !pattern));
    this.graph.search(pattern);
    this.found(text !== '' && !pattern);
    this.requests.list();
    this.drawing.later();
    this.remember();
  }

  found(isBad) {
    const { graph } = this;
    if (isBad) {
      $('found').textContent = 'This is no regular expression yet.';
      return;
    }
    if (graph.matches === null) {
      $('found').textContent = '';
      return;
    }
    const { weight, frames } = graph.matched(graph.base);
    let text = frames === 0 ? 'No frame matches.'
      : `${countText(frames)} ${frames === 1 ? 'frame' : 'frames'}, on the stacks of ` +
        shareText(shareOf(graph.base, weight));
    if (graph.other) {
      const other = graph.matched(graph.other);
      text += `; ${graph.base.id ? 'of everyone' : 'of the other'} ` +
        shareText(shareOf(graph.other, other.weight));
    }
    $('found').textContent = text;
  }

  setFocus(node, isQuiet) {
    const { drawing, graph } = this;
    const item = $('item');
    const siblings = graph.children(graph.tree.parent[node]);
    drawing.focus = node;
    item.setAttribute('aria-level', String(graph.tree.depth[node] + 1));
    item.setAttribute('aria-setsize', String(node === 0 ? 1 : siblings.length));
    item.setAttribute('aria-posinset', String(node === 0 ? 1 : siblings.indexOf(node) + 1));
    item.textContent = this.describer.sentence(node);
    if (isQuiet)
      return;
    drawing.reveal(node);
    drawing.draw();
    const box = $('canvas').getBoundingClientRect();
    const [from] = drawing.span(node);
    this.describer.show(node, box.left + Math.max(from, 0), box.top +
      drawing.rowTop(graph.tree.depth[node]) - $('scroll').scrollTop + 4);
  }

  setTheme(theme) {
    const system = matchMedia('(prefers-color-scheme: dark)').matches;
    const isDark = theme === 'dark' || (theme === 'auto' && system);
    this.theme = theme;
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    $('theme').textContent = { auto: 'Auto', light: 'Light', dark: 'Dark' }[theme];
    $('theme').setAttribute('aria-label', `Colours: ${theme === 'auto' ? 'as the system has them' : theme}`);
    this.colours.setDark(isDark);
    this.legend();
    this.drawing.draw();
    this.remember();
  }

  /* ---- Who asks for it. */

  listen() {
    const canvas = $('canvas');
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('click', (event) => this.click(event));
    $('tree').addEventListener('focus', () => {
      this.drawing.hasFocus = $('tree').matches(':focus-visible');
      if (this.drawing.hasFocus)
        this.setFocus(this.drawing.focus);
    });
    $('tree').addEventListener('blur', () => {
      this.drawing.hasFocus = false;
      this.leave();
    });
    $('tree').addEventListener('keydown', (event) => this.key(event));
    document.addEventListener('keydown', (event) => this.shortcut(event));
    $('search').addEventListener('input', () => this.search($('search').value));
    $('icicle').addEventListener('click', () => this.setDirection(false));
    $('upright').addEventListener('click', () => this.setDirection(true));
    $('widths-this').addEventListener('click', () => this.setWidths(this.graph.base));
    $('widths-other').addEventListener('click', () => this.setWidths(this.graph.other));
    $('uncompare').addEventListener('click', () => this.pick(null));
    $('unzoom').addEventListener('click', () => this.zoomTo(0));
    $('theme').addEventListener('click', () => this.nextTheme());
    $('keys').addEventListener('click', () => $('help').showModal());
    matchMedia('(prefers-color-scheme: dark)')
      .addEventListener('change', () => this.setTheme(this.theme));
    window.addEventListener('resize', () => this.drawing.resize());
    window.addEventListener('hashchange', () => this.restore());
  }

  nextTheme() {
    this.setTheme(THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length]);
  }

  nodeUnder(event) {
    const box = $('canvas').getBoundingClientRect();
    return this.drawing.nodeAt(event.clientX - box.left, event.clientY - box.top);
  }

  hover(event) {
    const node = this.nodeUnder(event);
    if (node < 0) {
      this.leave();
      return;
    }
    $('canvas').style.cursor = 'pointer';
    this.describer.show(node, event.clientX, event.clientY);
    if (node !== this.drawing.hover) {
      this.drawing.hover = node;
      this.drawing.later();
    }
  }

  leave() {
    this.describer.hide();
    $('canvas').style.cursor = '';
    this.drawing.hover = -1;
    this.drawing.later();
  }

  click(event) {
    const node = this.nodeUnder(event);
    if (node < 0)
      return;
    this.drawing.focus = node;
    this.zoomTo(node);
  }

  key(event) {
    const { graph, drawing } = this;
    const node = drawing.focus;
    const inward = drawing.isUpright ? 'ArrowUp' : 'ArrowDown';
    const outward = drawing.isUpright ? 'ArrowDown' : 'ArrowUp';
    const steps = {
      [inward]: () => this.setFocus(graph.below(node)),
      [outward]: () => this.setFocus(graph.tree.parent[node]),
      ArrowLeft: () => this.setFocus(graph.beside(node, -1)),
      ArrowRight: () => this.setFocus(graph.beside(node, 1)),
      Home: () => { this.zoomTo(0); this.setFocus(0); },
      Enter: () => this.zoomTo(node === graph.zoom ? graph.tree.parent[node] : node),
    };
    if (event.ctrlKey || event.altKey || event.metaKey || !steps[event.key])
      return;
    event.preventDefault();
    drawing.hasFocus = true;
    steps[event.key]();
  }

  shortcut(event) {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.ctrlKey || event.altKey || event.metaKey || $('help').open)
      return;
    if (event.key === 'Escape') {
      this.back();
      event.preventDefault();
      return;
    }
    const steps = {
      '/': () => $('search').focus(),
      '?': () => $('help').showModal(),
      i: () => this.setDirection(!this.drawing.isUpright),
      t: () => this.nextTheme(),
    };
    if (isTyping || !steps[event.key])
      return;
    event.preventDefault();
    steps[event.key]();
  }

  /* One step: what was asked for last goes first. */
  back() {
    if ($('search').value !== '') {
      $('search').value = '';
      this.search('');
      $('tree').focus();
    } else if (this.graph.zoom !== 0) {
      this.zoomTo(0);
    } else if (this.graph.base.id) {
      this.pick(null);
    }
  }

  /* ---- The address. */

  remember() {
    const state = new URLSearchParams();
    if ($('search').value)
      state.set('search', $('search').value);
    if (this.graph.zoom)
      state.set('zoom', String(this.graph.zoom));
    if (this.graph.base.id)
      state.set('trace', this.graph.base.id);
    if (this.graph.other && this.graph.widths === this.graph.other)
      state.set('widths', 'other');
    if (this.drawing.isUpright)
      state.set('view', 'flame');
    if (this.theme !== 'auto')
      state.set('theme', this.theme);
    const text = String(state);
    if (this.isRestoring || text === location.hash.slice(1))
      return;
    try {
      history.replaceState(null, '', `#${text}`);
    } catch {
      /* A page within another may not: then it is not remembered. */
    }
  }

  restore() {
    const state = new URLSearchParams(location.hash.slice(1));
    const { data } = this;
    const zoom = Number(state.get('zoom'));
    const first = this.wasShown || data.chosen === null ? null : data.traces[data.chosen];
    this.isRestoring = true;
    this.wasShown = true;
    this.theme = THEMES.includes(state.get('theme')) ? state.get('theme') : 'auto';
    this.drawing.resize();
    this.pick(data.traces.find((t) => t.id === state.get('trace')) || first, true);
    if (this.graph.other && state.get('widths') === 'other')
      this.graph.setWidths(this.graph.other);
    this.pressWidths();
    $('search').value = state.get('search') || '';
    this.search($('search').value);
    this.zoomTo(Number.isInteger(zoom) && zoom > 0 && zoom < this.graph.tree.n ? zoom : 0);
    this.setDirection(state.get('view') === 'flame');
    this.isRestoring = false;
    this.remember();
  }
}

function start() {
  const data = JSON.parse($('data').textContent);
  if (data.format !== 1) {
    $('nothing').textContent = 'This page and its data are of different versions of weft.';
    $('nothing').hidden = false;
    return null;
  }
  return new Page(data);
}

const page = start();
