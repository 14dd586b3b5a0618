// What two lists have in common: their longest common subsequence.

// Returns, for each list, whether each of its members is in the other one, too, in the same order.
export function inBoth(before, now) {
  const lengths = Array.from({length: before.length + 1}, () => new Uint32Array(now.length + 1));
  for (let i = before.length - 1; i >= 0; --i)
    for (let j = now.length - 1; j >= 0; --j)
      lengths[i][j] = before[i] === now[j] ? lengths[i + 1][j + 1] + 1
        : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const common = {before: before.map(() => false), now: now.map(() => false)};
  for (let i = 0, j = 0; i < before.length && j < now.length;) {
    if (before[i] === now[j]) {
      common.before[i++] = common.now[j++] = true;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}
