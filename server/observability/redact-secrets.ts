import { cutOff } from './mask-addresses.ts';

/** Stands where a secret was. */
export const redacted = '[Redacted]';

/** The names of what authorizes, wherever a name may stand: in a header, a query, a connection string, a field. */
const names =
  'passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|app[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|' +
  'encryption[_-]?key|idempotency[_-]?key|credentials?|verifier|assertion|signature|sig(?![a-z])|jwt|dsn|session[_-]?id|csrf|xsrf';

/** Between a name and its value. JSON in a string has backslashes before its quotation marks. */
const between = String.raw`\\{0,15}["']?\s{0,4}(?:[=:]|%(?:25)*3[AD])\s{0,4}`;
const slash = '(?:/|%(?:25)*2F)';
const space = String.raw`(?:\s|%20|\+)+`;
const open = String.raw`(?!\[Redacted\])`;
/** The sign of a masked address is no sign of a URL. */
const notMasked = String.raw`(?!.{1,2}\*{3}(?:\.[^\s#]{1,63})?#[0-9a-f]{12})`;

/** Each form keeps a beginning and hides the rest. Each needs time linear in the text's length, whatever is in it. */
const forms = [
  // The user and password of a URL. Some passwords have a slash, which should be encoded.
  String.raw`(?<keep>://)(?!\[Redacted\]@)(?:[^\s/?#"'<>\\@]+(?:@[^\s/?#"'<>\\@]*)*(?=@[^\s@])|[^\s/?#"'<>\\@:]{0,256}:(?!//|\d{1,5}[/?#])(?:(?!://)[^\s"'<>\\@])+)(?=@${notMasked})`,
  // The path of a chat's webhook authorizes.
  String.raw`(?<chat>hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com|\.webhook\.office\.com|\.logic\.azure\.(?:com|us)(?::\d+)?|\.powerplatform\.(?:com|microsoft\.us)(?::\d+)?)${slash}(?!…)[^\s"'<>\\]+`,
  `(?<keep>${slash}(?:hooks|invitations)${slash})[A-Za-z0-9_-]{12,}`,
  // A header ends with its line, or with the last line into which it is folded.
  String.raw`(?<keep>(?:authorization|cookie)2?${between})(?![\s"'\\]*\[Redacted\])[^\r\n]+(?:\r\n[ \t]+[^\r\n]+)*`,
  String.raw`(?<keep>\b(?:bearer|negotiate)${space}(?!(?:bearer|negotiate)${space})|\b(?:basic|digest)${space}(?!auth|realm)(?=[^\s"',;<>\\]{4}))${open}[^\s"',;<>\\]+`,
  // Our tokens, secrets and cookies.
  String.raw`(?<keep>ib_\d{1,16}_|whsec_)[A-Za-z0-9+/=_%-]+`,
  '(?<keep>ib[acgr]_)[A-Za-z0-9_-]{16,}',
  String.raw`(?<keep>idea_board_(?:session|browser)=)${open}[^\s;,"'<>\\]+`,
  // Our signed links: one ends a subscription, one confirms an address.
  String.raw`(?<keep>\d{1,16}\.(?:\d{1,16}|all)\.)(?:[\w-]{22}\.[\w-]{1,2000}\.)?[\w-]{43}`,
  // A value that PostgreSQL quotes, to the last mark of the line, and a row that the ORM adds to the message.
  String.raw`(?<keep>(?:(?:invalid input|malformed|out of range)[^":\r\n]{0,80}: |invalid value for parameter "[^"\r\n]{1,80}": |\bvalue )")(?:[^\r\n]*(?=")|[^\r\n]*\[…\]$)`,
  String.raw`(?<keep>\n - detail: )${open}[\s\S]*?(?=\n[ \t]+at |$)`,
];
const secrets = new RegExp(forms.join('|'), 'gi');

/** A named value. The content of quotation marks with backslashes ends where as many backslashes precede a mark. */
const namedSecrets = new RegExp(
  String.raw`(?<name>(?:${names})[\w-]{0,32})(?<sign>${between})(?:(?<quote>(?<escape>\\{1,15})")(?:[^"\\]|(?<!\\)(?!\k<escape>")\\+(?!\\)"?)*|(?<quote>")(?:[^"\\]|\\.)*|(?<quote>')[^']*|\[(?!Redacted\]|…\])(?<value>[^[\]]*)(?:\]|\[…\]$)|${open}(?<value>[^\s&;,"'<>()[\]{}\\]+))`,
  'gi',
);

/** Takes what authorizes out of a text: tokens, passwords, keys, cookies, and URLs that are as good as one. */
export function redactSecrets(text: string): string {
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

/** Follows `apitoken:` in the name of a limit or its counter. */
const bucket = /^(?:read|write)(?::\d+)?$/;

const namesOfFields = new RegExp(`${names}|authorization|cookie|passw|passcode|bearer`, 'i');
const shortNames = /^(?:auth|pass|pw|sid|sig|otp|pin)$/i;

/** Whether a field has the name of a secret. `tokenId: 7` says which token it was, and opens nothing. */
export function isSecretField(name: string, value: unknown): boolean {
  const plain = name.replace(/[^a-z0-9]/gi, '');
  return (shortNames.test(plain) || namesOfFields.test(plain)) && !isPlainId(name, value);
}

function isPlainId(name: string, value: unknown): boolean {
  if (!/ids?$/i.test(name) || /session[_-]?id$/i.test(name)) return false;
  return [value].flat().every(one => /^\s{0,4}(?:\d{1,16}|null|undefined)\s{0,4}$/.test(String(one)));
}

/** Whether the next item of a list of headers, where values follow names, is a secret. */
export function isSecretHeader(name: unknown): boolean {
  return (
    typeof name === 'string' && /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?|x-(?:api-key|auth-token))$/i.test(name)
  );
}

/** A character that no token and no address has in its middle, apart from quoted local parts. */
const boundary = /[\s"<>\\/?&#=:;,()[\]]/;

/** The longest local part of an address in quotation marks, with its marks. */
const maxQuotedLength = 66;

/**
 * Cuts a long text before anything reads it. Takes the last word out of a text that was cut, here or before: it may be
 * the first half of a secret or an address, which no form matches.
 */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength && !text.endsWith(cutOff)) return text;
  const kept = text.length > maxLength ? text.slice(0, maxLength) : text.slice(0, -cutOff.length);
  let start = kept.length;
  while (start > 0 && !boundary.test(kept[start - 1] ?? '')) start--;
  // The cut may have taken away the sign after the user and password of a URL.
  const authority = kept.lastIndexOf('://');
  if (authority >= 0 && !/[\s"'<>\\]/.test(kept.slice(authority))) start = Math.min(start, authority + '://'.length);
  // The cut may be before or after the second mark of a quoted local part.
  for (let marks = 0; marks < 2; marks++) {
    const quote = kept.lastIndexOf('"', start - 1);
    if (quote >= 0 && quote >= start - maxQuotedLength) start = quote;
  }
  return kept.slice(0, start) + cutOff;
}
