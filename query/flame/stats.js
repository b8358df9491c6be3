/* SPDX-License-Identifier: MIT */
/* How sure is a share: the forms of query/stats.c, which says whose they are.
 * tests/interop/62-flame.sh holds the two against each other. */

const Z = 1.959963984540054;

function poissonLimit(k, z) {
  if (k <= 0)
    return 0;
  const t = 1 - 1 / (9 * k) + z / (3 * Math.sqrt(k));
  return t > 0 ? k * t * t * t : 0;
}

function listedLower(k) {
  const lower = [0, 0, 0.0504, 0.4083, 0.9333, 1.52];
  const last = lower.length - 1;
  if (k > last + 1e-9)
    return poissonLimit(k, -Z);
  if (k >= last)
    return lower[last];
  const at = Math.max(k, 0);
  const i = Math.floor(at);
  return lower[i] + (at - i) * (lower[i + 1] - lower[i]);
}

function wilson(k, n) {
  const mid = (k + Z * Z / 2) / (n + Z * Z);
  const spread = k * (1 - k / n) + Z * Z / 4;
  const half = Z / (n + Z * Z) * Math.sqrt(Math.max(spread, 0));
  return [k <= 0 ? 0 : Math.max(0, mid - half),
          k >= n ? 1 : Math.min(1, mid + half)];
}

/* The 95 % interval of k of n samples, for what is listed because k > 0. */
function shareInterval(k, n) {
  if (!(n > 0))
    return [0, 1];
  let [lo, hi] = wilson(k, n);
  if (k > 0 && k < 10 && n > k)
    lo = Math.min(lo, poissonLimit(k, -Z) / n);
  if (n - k > 0 && n - k < 10 && k > 0)
    hi = Math.max(hi, 1 - poissonLimit(n - k, -Z) / n);
  if (k > 0 && k < 5 + 1e-9 && k < n)
    lo = Math.min(lo, listedLower(k) / n);
  return [lo, hi];
}
