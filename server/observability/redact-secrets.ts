import { cutOff } from './mask-addresses.ts';

export const redacted = '[Redacted]';

/** The names of secrets in headers, queries, connection strings and fields. */
const names =
  'passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|app[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|' +
  'encryption[_-]?key|idempotency[_-]?key|credentials?|verifier|assertion|signature|sig(?![a-z])|jwt|dsn|session[_-]?id|csrf|xsrf';

/** Separates a name from its value. JSON in a string has backslashes before its quotation marks. */
const between = String.raw`\\{0,15}["']?\s{0,4}(?:[=:]|%(?:25)*3[AD])\s{0,4}`;
const slash = '(?:/|%(?:25)*2F)';
const space = String.raw`(?:\s|%20|\+)+`;
const open = String.raw`(?!\[Redacted\])`;
/** The `@` of a masked address does not end the user and password of a URL. */
const notMasked = String.raw`(?!.{1,2}\*{3}(?:\.[^\s#]{1,63})?#[0-9a-f]{12})`;

/** Each form keeps the beginning of a match and hides the rest. Each must take linear time for every text. */
const forms = [
  // The user and password of a URL. Some passwords contain a slash that is not encoded.
  String.raw`(?<keep>://)(?!\[Redacted\]@)(?:[^\s/?#"'<>\\@]+(?:@[^\s/?#"'<>\\@]*)*(?=@[^\s@])|[^\s/?#"'<>\\@:]{0,256}:(?!//|\d{1,5}[/?#])(?:(?!://)[^\s"'<>\\@])+)(?=@${notMasked})`,
  // The path of a chat webhook is a secret.
  String.raw`(?<chat>hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com|\.webhook\.office\.com|\.logic\.azure\.(?:com|us)(?::\d+)?|\.powerplatform\.(?:com|microsoft\.us)(?::\d+)?)${slash}(?!…)[^\s"'<>\\]+`,
  `(?<keep>${slash}(?:hooks|invitations)${slash})[A-Za-z0-9_-]{12,}`,
  // A header, which may be folded into several lines.
  String.raw`(?<keep>(?:authorization|cookie)2?${between})(?![\s"'\\]*\[Redacted\])[^\r\n]+(?:\r\n[ \t]+[^\r\n]+)*`,
  String.raw`(?<keep>\b(?:bearer|negotiate)${space}(?!(?:bearer|negotiate)${space})|\b(?:basic|digest)${space}(?!auth|realm)(?=[^\s"',;<>\\]{4}))${open}[^\s"',;<>\\]+`,
  // The tokens, secrets and cookies of Idea-Board.
  String.raw`(?<keep>ib_\d{1,16}_|whsec_)[A-Za-z0-9+/=_%-]+`,
  '(?<keep>ib[acgr]_)[A-Za-z0-9_-]{16,}',
  String.raw`(?<keep>idea_board_(?:session|browser)=)${open}[^\s;,"'<>\\]+`,
  // The signed links of Idea-Board: one unsubscribes, one confirms an address.
  String.raw`(?<keep>\d{1,16}\.(?:\d{1,16}|all)\.)(?:[\w-]{22}\.[\w-]{1,2000}\.)?[\w-]{43}`,
  // A value that PostgreSQL quotes, up to the last quotation mark of the line. A row that the ORM adds to the message.
  String.raw`(?<keep>(?:(?:invalid input|malformed|out of range)[^":\r\n]{0,80}: |invalid value for parameter "[^"\r\n]{1,80}": |\bvalue )")(?:[^\r\n]*(?=")|[^\r\n]*\[…\]$)`,
  String.raw`(?<keep>\n - detail: )${open}[\s\S]*?(?=\n[ \t]+at |$)`,
];
const secrets = new RegExp(forms.join('|'), 'gi');

/** Each form contains one of these. The search for one is fast, and most texts of a log line have none. */
const hints = /[\s:=%_.+"]|hooks|invitations/i;

/** A named value. Content in quotation marks with backslashes ends at the next mark with as many backslashes. */
const namedSecrets = new RegExp(
  String.raw`(?<name>(?:${names})[\w-]{0,32})(?<sign>${between})(?:(?<quote>(?<escape>\\{1,15})")(?:[^"\\]|(?<!\\)(?!\k<escape>")\\+(?!\\)"?)*|(?<quote>")(?:[^"\\]|\\.)*|(?<quote>')[^']*|\[(?!Redacted\]|…\])(?<value>[^[\]]*)(?:\]|\[…\]$)|${open}(?<value>[^\s&;,"'<>()[\]{}\\]+))`,
  'gi',
);

/** Redacts the tokens, passwords, keys, cookies and secret URLs in a text. */
export function redactSecrets(text: string): string {
  if (!hints.test(text)) return text;
  return text
    .replace(secrets, (...found) => {
      const { keep, chat }: Groups = found.at(-1);
      return chat === undefined ? `${keep}${redacted}` : `${chat}/…`;
    })
    .replace(namedSecrets, (whole, ...found) => {
      const { name = '', sign, quote = '', value }: Groups = found.at(-1);
      const isHarmless = value !== undefined && (isPlainId(name, value.split(',')) || bucket.test(value));
      return isHarmless ? whole : name + sign + quote + redacted;
    });
}

type Groups = Record<string, string | undefined>;

/** The rest of `apitoken:read` and of the key of its counter. */
const bucket = /^(?:read|write)(?::\d+)?$/;

const namesOfFields = new RegExp(`${names}|authorization|cookie|passw|passcode|bearer`, 'i');
const shortNames = /^(?:auth|pass|pw|sid|sig|otp|pin)$/i;

/** Whether a field has the name of a secret. Its value may still be harmless: see isPlainId. */
export function isSecretName(name: string): boolean {
  const plain = name.replace(/[^a-z0-9]/gi, '');
  return shortNames.test(plain) || namesOfFields.test(plain);
}

/** Whether a field such as `tokenId: 7` only identifies a secret. */
export function isPlainId(name: string, value: unknown): boolean {
  if (!/ids?$/i.test(name) || /session[_-]?id$/i.test(name)) return false;
  return [value].flat().every(one => /^\s{0,4}(?:\d{1,16}|null|undefined)\s{0,4}$/.test(String(one)));
}

/** Whether the next item in a list of alternating header names and values is a secret. */
export function isSecretHeader(name: unknown): boolean {
  return (
    typeof name === 'string' && /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?|x-(?:api-key|auth-token))$/i.test(name)
  );
}

/** A character that occurs in no token and in no address, except in quoted local parts. */
const boundary = /[\s"<>\\/?&#=:;,()[\]]/;

/** The maximum length of a quoted local part with its quotation marks. */
const maxQuotedLength = 66;

/**
 * Cuts a long text. Removes the last word of a text that was cut, here or before: it may be the first half of a secret or
 * an address, and no form matches a half.
 */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength && !text.endsWith(cutOff)) return text;
  const kept = text.length > maxLength ? text.slice(0, maxLength) : text.slice(0, -cutOff.length);
  let start = kept.length;
  while (start > 0 && !boundary.test(kept[start - 1] ?? '')) start--;
  // The cut may have removed the `@` after the user and password of a URL.
  const authority = kept.lastIndexOf('://');
  if (authority >= 0 && !/[\s"'<>\\]/.test(kept.slice(authority))) start = Math.min(start, authority + '://'.length);
  // The cut may be before or after the second quotation mark of a local part.
  for (let marks = 0; marks < 2; marks++) {
    const quote = kept.lastIndexOf('"', start - 1);
    if (quote >= 0 && quote >= start - maxQuotedLength) start = quote;
  }
  return kept.slice(0, start) + cutOff;
}
