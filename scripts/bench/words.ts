const wordCount = 20_000;

const onsets = [
  '',
  '',
  ...'b c d f g h j k l m n p r s t v w br ch cl cr dr fl fr gr pl pr qu sc sh sl sp st str th tr'.split(' '),
];
const nuclei = 'a e i o u a e i o ai ea ee ie io oa ou'.split(' ');
const codas = ['', '', '', '', 'n', 'r', 's', 't', 'l', 'm', 'd', 'ck', 'nd', 'ng', 'nt', 'rd', 'ss', 'st'];
const endings = ['', '', '', 's', 'ed', 'er', 'ing', 'ion', 'ment', 'ly'];

/**
 * A made-up vocabulary in which, as in a language, the common words are short and beginnings are shared unevenly: the
 * cost of a search depends on how many words begin with its prefix. The same on every run, the most common word first.
 */
export function makeWords(): string[] {
  const random = mulberry32(20_000);
  const pick = (parts: readonly string[]) => parts[Math.floor(random() ** 1.5 * parts.length)] as string;
  const words = new Set<string>();
  while (words.size < wordCount) {
    const syllables = 1 + Math.floor((words.size / wordCount) * 2 + random() * 1.5);
    let word = '';
    for (let count = 0; count < syllables; count++) word += pick(onsets) + pick(nuclei) + pick(codas);
    words.add(word + pick(endings));
  }
  return [...words];
}

/** A small generator of random numbers that can be seeded, unlike Math.random. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
