/**
 * Returns the number of trigrams that both texts contain, divided by the number of different trigrams in the two texts.
 * A word of three letters has four trigrams, because spaces are added around it.
 */
export function similarityOf(a: string, b: string): number {
  const [one, other] = [trigramsOf(a), trigramsOf(b)];
  const shared = [...one].filter(trigram => other.has(trigram)).length;
  return Math.round((1000 * shared) / (one.size + other.size - shared || 1)) / 1000;
}

function trigramsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words.flatMap(word => Array.from({ length: word.length + 1 }, (_, n) => `  ${word} `.slice(n, n + 3))),
  );
}
