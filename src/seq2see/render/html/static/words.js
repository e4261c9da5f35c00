// Tokens as words: what stands between spaces becomes one, so that subwords do not get in the way of reading.

// The groups of tokens of one side: each with its tokens' places; a mark such as the end of text stays alone.
function groupTokens(text, tokens, words) {
  if (!words) return tokens.map((token, index) => ({ token, places: [index] }));
  const numbers = numberWords(text);
  const groups = [];
  let last = null;
  tokens.forEach((token, index) => {
    const word = token.start === token.end ? null : numbers[token.start];
    if (word !== null && word !== undefined && word === last) groups.at(-1).places.push(index);
    else groups.push({ places: [index] });
    last = word ?? null;
  });
  const chars = Array.from(text);
  return groups.map(({ places }) => ({ places, token: joinTokens(places.map((place) => tokens[place]), chars) }));
}

// The number of the word each character belongs to, or null for a space.
function numberWords(text) {
  let word = 0;
  return Array.from(text).map((char, index, chars) => {
    if (/\s/u.test(char)) return null;
    if (index && /\s/u.test(chars[index - 1])) word += 1;
    return word;
  });
}

// A word is as sure as all its tokens together.
function joinTokens(parts, chars) {
  if (parts.length === 1) return parts[0];
  const [start, end] = [parts[0].start, parts.at(-1).end];
  const known = parts.every((part) => part.confidence !== null && part.confidence !== undefined);
  const confidence = known ? parts.reduce((product, part) => product * part.confidence, 1) : null;
  return { text: chars.slice(start, end).join(""), start, end, confidence, unknown: parts.some((part) => part.unknown) };
}

// The weights of a word: as a query the mean over its tokens, as a key their sum.
function mergeWeights(weights, rows, columns) {
  if (rows.length === weights.length && columns.length === (weights[0]?.length ?? 0)) return weights;
  return rows.map((row) => columns.map((column) => {
    const sums = row.places.map((r) => column.places.reduce((sum, c) => sum + weights[r][c], 0));
    return sums.reduce((sum, each) => sum + each, 0) / sums.length;
  }));
}

// Whether words differ from tokens on any side.
function hasWords(trace) {
  const sides = [[trace.source, trace.source_tokens], [trace.target, trace.target_tokens]];
  return sides.some(([text, tokens]) => groupTokens(text, tokens, true).length < tokens.length);
}

// Whether a text is read from right to left, by its first letter that has a direction.
function isRightToLeft(text) {
  const first = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]|\p{L}/u.exec(text);
  return first !== null && /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first[0]);
}
