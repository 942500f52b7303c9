/** The format of a token's plaintext: ib_<id>_<secret>. The secret is 32 random bytes in base64url. */
const tokenText = /^ib_([1-9]\d{0,15})_([A-Za-z0-9_-]{43})$/;

export interface TokenParts {
  id: number;
  secret: string;
}

export function parseTokenText(text: string): TokenParts | undefined {
  const [, id, secret] = tokenText.exec(text) ?? [];
  if (id === undefined || secret === undefined || !Number.isSafeInteger(Number(id))) return undefined;
  return { id: Number(id), secret };
}

export function formatToken({ id, secret }: TokenParts): string {
  return `ib_${id}_${secret}`;
}
