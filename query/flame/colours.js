/* SPDX-License-Identifier: MIT */
/* Colours: of kinds, and of differences. Each name has a shade of its own, so
 * that neighbours can be told apart and one function looks the same
 * everywhere. */

/* Hue, saturation, lightness in light and in dark, by kind. */
const PALETTE = {
  light: [[27, 88, 70], [211, 62, 73], [47, 86, 72], [152, 42, 66],
          [20, 8, 84], [30, 12, 88]],
  dark: [[24, 58, 42], [213, 42, 44], [43, 52, 38], [154, 32, 36],
         [20, 6, 32], [30, 8, 26]],
};
const SPREAD = [[9, 6, 5], [8, 6, 4], [6, 6, 4], [10, 6, 4], [0, 0, 0], [0, 0, 0]];

function hashName(name) {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i++)
    h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  h ^= h >>> 15;
  return h >>> 0;
}

class Colours {
  constructor(graph) {
    this.graph = graph;
    this.shades = Uint32Array.from(graph.tree.names, hashName);
    this.setDark(false);
  }

  setDark(isDark) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.isDark = isDark;
    this.text = colour('--frame-ink');
    this.faint = colour('--frame-faint');
    this.back = colour('--panel');
    this.focus = colour('--focus');
    this.match = colour('--match');
    this.matchText = colour('--match-ink');
    this.byFrame = new Array(this.graph.tree.names.length);
  }

  ofKind(kind, shade) {
    const [h, s, l] = PALETTE[this.isDark ? 'dark' : 'light'][kind];
    const [dh, ds, dl] = SPREAD[kind];
    const part = (bits) => ((shade >>> bits) & 255) / 127.5 - 1;
    return `hsl(${(h + dh * part(0)).toFixed(1)} ${(s + ds * part(8)).toFixed(1)}% ` +
      `${(l + dl * part(16)).toFixed(1)}%)`;
  }

  ofFrame(frame) {
    this.byFrame[frame] ??= this.ofKind(this.graph.tree.kinds[frame],
                                        this.shades[frame]);
    return this.byFrame[frame];
  }

  /* More is warm, less is cold; pale where chance could be all there is. */
  ofDifference({ by, isSure }) {
    const much = Math.abs(by) * (isSure ? 1 : 0.22);
    const hue = by > 0 ? 12 : 212;
    if (by === 0)
      return this.isDark ? 'hsl(30 5% 30%)' : 'hsl(30 8% 90%)';
    if (this.isDark)
      return `hsl(${hue} ${(8 + 58 * much).toFixed(0)}% ${(30 + 16 * much).toFixed(0)}%)`;
    return `hsl(${hue} ${(12 + 70 * much).toFixed(0)}% ${(90 - 26 * much).toFixed(0)}%)`;
  }

  of(node) {
    if (this.graph.isMatch(node))
      return this.match;
    if (this.graph.other && node > 0 && this.graph.kind(node) !== KIND.MARK)
      return this.ofDifference(this.graph.difference(node));
    return this.ofFrame(this.graph.tree.frame[node]);
  }
}
