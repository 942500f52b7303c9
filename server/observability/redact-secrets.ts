import { cutOff } from './mask-addresses.ts';

export const redacted = '[Redacted]';

/** Matches the names of secrets in headers, query strings, connection strings and fields. */
const names =
  'passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|app[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|' +
  'encryption[_-]?key|idempotency[_-]?key|credentials?|verifier|assertion|signature|sig(?![a-z])|jwt|dsn|session[_-]?id|csrf|xsrf';

/** Matches the text between a secret's name and its value. Inside a JSON string, quotation marks have backslashes. */
const between = String.raw`\\{0,15}["']?\s{0,4}(?:[=:]|%(?:25)*3[AD])\s{0,4}`;
const slash = '(?:/|%(?:25)*2F)';
const space = String.raw`(?:\s|%20|\+)+`;
const open = String.raw`(?!\[Redacted\])`;
/**
 * A lookahead that excludes the `@` of a masked e-mail address, because this `@` does not follow the user name and
 * password of a URL.
 */
const notMasked = String.raw`(?!.{1,2}\*{3}(?:\.[^\s#]{1,63})?#[0-9a-f]{12})`;

/**
 * The patterns of secrets. The redactor keeps the text of the group `keep` and replaces the rest of the match. Matching
 * must take linear time for every text.
 */
const forms = [
  // The user name and password in a URL. The password may contain an unencoded slash.
  String.raw`(?<keep>://)(?!\[Redacted\]@)(?:[^\s/?#"'<>\\@]+(?:@[^\s/?#"'<>\\@]*)*(?=@[^\s@])|[^\s/?#"'<>\\@:]{0,256}:(?!//|\d{1,5}[/?#])(?:(?!://)[^\s"'<>\\@])+)(?=@${notMasked})`,
  // The URL of a chat webhook, whose path is a secret.
  String.raw`(?<chat>hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com|\.webhook\.office\.com|\.logic\.azure\.(?:com|us)(?::\d+)?|\.powerplatform\.(?:com|microsoft\.us)(?::\d+)?)${slash}(?!…)[^\s"'<>\\]+`,
  `(?<keep>${slash}(?:hooks|invitations)${slash})[A-Za-z0-9_-]{12,}`,
  // The value of a header with credentials. A header may be folded into several lines.
  String.raw`(?<keep>(?:authorization|cookie)2?${between})(?![\s"'\\]*\[Redacted\])[^\r\n]+(?:\r\n[ \t]+[^\r\n]+)*`,
  String.raw`(?<keep>\b(?:bearer|negotiate)${space}(?!(?:bearer|negotiate)${space})|\b(?:basic|digest)${space}(?!auth|realm)(?=[^\s"',;<>\\]{4}))${open}[^\s"',;<>\\]+`,
  // The tokens, secrets and cookies of Idea-Board.
  String.raw`(?<keep>ib_\d{1,16}_|whsec_)[A-Za-z0-9+/=_%-]+`,
  '(?<keep>ib[acegr]_)[A-Za-z0-9_-]{16,}',
  // A signed token (JWT), such as one that signs a person in on an embedded board. Its header begins with `{"`.
  String.raw`(?<keep>)eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?`,
  String.raw`(?<keep>idea_board_(?:session|embedded|browser|challenge)=)${open}[^\s;,"'<>\\]+`,
  // The signed tokens in links of Idea-Board, to unsubscribe or to confirm an e-mail address.
  String.raw`(?<keep>\d{1,16}\.(?:\d{1,16}|all|mentions)\.)(?:[\w-]{22}\.[\w-]{1,2000}\.)?[\w-]{43}`,
  // A value that PostgreSQL quotes in an error, up to the last quotation mark of the line. The next pattern matches a
  // database row that the ORM adds to the message.
  String.raw`(?<keep>(?:(?:invalid input|malformed|out of range)[^":\r\n]{0,80}: |invalid value for parameter "[^"\r\n]{1,80}": |\bvalue )")(?:[^\r\n]*(?=")|[^\r\n]*\[…\]$)`,
  String.raw`(?<keep>\n - detail: )${open}[\s\S]*?(?=\n[ \t]+at |$)`,
];
const secrets = new RegExp(forms.join('|'), 'gi');

/**
 * Matches a part that every secret contains. This search is fast, and many short texts in a log contain no such part.
 */
const hints = /[\s:=%_.+"]|hooks|invitations/i;

/**
 * Matches the name and the value of a secret. A value in escaped quotation marks ends at the next quotation mark with
 * the same number of backslashes.
 */
const namedSecrets = new RegExp(
  String.raw`(?<name>(?:${names})[\w-]{0,32})(?<sign>${between})(?:(?<quote>(?<escape>\\{1,15})")(?:[^"\\]|(?<!\\)(?!\k<escape>")\\+(?!\\)"?)*|(?<quote>")(?:[^"\\]|\\.)*|(?<quote>')[^']*|\[(?!Redacted\]|…\])(?<value>[^[\]]*)(?:\]|\[…\]$)|${open}(?<value>[^\s&;,"'<>()[\]{}\\]+))`,
  'gi',
);

/** Removes the tokens, passwords, keys, cookies and secret URLs from a text. */
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

/**
 * Matches the text after `apitoken:` in the name or key of a rate limit. This text looks like the value of a token but
 * is harmless.
 */
const bucket = /^(?:read|write)(?::\d+)?$/;

const namesOfFields = new RegExp(`${names}|authorization|cookie|passw|passcode|bearer`, 'i');
const shortNames = /^(?:auth|pass|pw|sid|sig|otp|pin)$/i;

/** Whether a field has the name of a secret. Its value may still be harmless: see isPlainId. */
export function isSecretName(name: string): boolean {
  const plain = name.replace(/[^a-z0-9]/gi, '');
  return shortNames.test(plain) || namesOfFields.test(plain);
}

/** Whether a field only identifies a secret, such as `tokenId: 7`, and does not contain the secret. */
export function isPlainId(name: string, value: unknown): boolean {
  if (!/ids?$/i.test(name) || /session[_-]?id$/i.test(name)) return false;
  return [value].flat().every(one => /^\s{0,4}(?:\d{1,16}|null|undefined)\s{0,4}$/.test(String(one)));
}

/**
 * Whether a text is the name of a header with a secret value. Such a value directly follows its name in a list of
 * header names and values.
 */
export function isSecretHeader(name: unknown): boolean {
  return (
    typeof name === 'string' && /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?|x-(?:api-key|auth-token))$/i.test(name)
  );
}

/**
 * Matches a character that ends a token or an e-mail address. No token contains such a character, and an e-mail address
 * contains it only in a quoted local part.
 */
const boundary = /[\s"<>\\/?&#=:;,()[\]]/;

/** The maximum length of the quoted local part of an e-mail address, with its quotation marks. */
const maxQuotedLength = 66;

/**
 * Cuts a long text. Also removes the last word of a text that was cut here or earlier. That word may be the first half
 * of a secret or of an e-mail address, and the patterns match only complete ones.
 */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength && !text.endsWith(cutOff)) return text;
  const kept = text.length > maxLength ? text.slice(0, maxLength) : text.slice(0, -cutOff.length);
  let start = kept.length;
  while (start > 0 && !boundary.test(kept[start - 1] ?? '')) start--;
  // Also removes the text after `://`. It may be the user name and password of a URL, without the `@` that the pattern
  // for passwords needs.
  const authority = kept.lastIndexOf('://');
  if (authority >= 0 && !/[\s"'<>\\]/.test(kept.slice(authority))) start = Math.min(start, authority + '://'.length);
  // Removes the quoted local part of an e-mail address, beginning at its first quotation mark. The cut may be before or
  // after the second quotation mark.
  for (let marks = 0; marks < 2; marks++) {
    const quote = kept.lastIndexOf('"', start - 1);
    if (quote >= 0 && quote >= start - maxQuotedLength) start = quote;
  }
  return kept.slice(0, start) + cutOff;
}
