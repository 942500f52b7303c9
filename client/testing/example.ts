/** Returns the first example of a schema of the contract. */
export function exampleOf(schema: { meta(): object | undefined }): unknown {
  const { examples } = schema.meta() as { examples: unknown[] };
  return examples[0];
}
