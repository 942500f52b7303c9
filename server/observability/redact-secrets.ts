/** What stands where a secret was. */
export const redacted = '[Redacted]';

interface Pattern {
  find: RegExp;
  replace: string | ((...found: string[]) => string);
}

/** The names of what authorizes, wherever a name may stand: in a header, a query, a connection string, a field. */
const secretNames =
  'passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|app[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|' +
  'encryption[_-]?key|idempotency[_-]?key|credentials?|verifier|assertion|signature|sig(?![a-z])|jwt|dsn|session[_-]?id|csrf|xsrf';

/** Between a name and its value; in JSON that stands in a string, the quotation marks have backslashes before them. */
const between = String.raw`\\{0,15}["']?\s{0,4}(?:[=:]|%(?:25)*3[AD])\s{0,4}`;

/** The end of a text that was cut. */
const cutEnd = String.raw`\[…\]$`;

/** What is in quotation marks that have backslashes before them, up to where as many stand before the next one. */
const escapedValue = String.raw`(?<escape>\\{1,15})"(?:[^"\\]|(?<!\\)(?!\k<escape>")\\+(?!\\)"?)*`;

const slash = '(?:\\/|%(?:25)*2F)';

/** What follows `apitoken:` where a limit or its counter is named. */
const bucket = /^(?:read|write)(?::\d+)?$/;

/** The sign of a masked address is none of a URL's. */
const noMask = String.raw`(?!.\*{3}(?:\.[\p{L}\p{N}-]{1,63})?#[0-9a-f]{12})`;

/** In the order in which they apply. Each costs time linear in the text's length, whatever is in it. */
const patterns: Pattern[] = [
  // Who may connect: postgres://user:password@host, and the key of an error monitor, which is its user.
  {
    find: new RegExp(
      String.raw`(:\/\/)(?!\[Redacted\]@)[^\s/?#"'<>\\@]+(?:@[^\s/?#"'<>\\@]*)*@(?=[^\s@])${noMask}`,
      'gu',
    ),
    replace: `$1${redacted}@`,
  },
  // A password with a slash in it, which was to be encoded.
  {
    find: new RegExp(
      String.raw`(:\/\/)(?!\[Redacted\]@)[^\s/?#"'<>\\@:]{0,256}:(?!\/\/|\d{1,5}[/?#])(?:(?!:\/\/)[^\s"'<>\\@])+@${noMask}`,
      'gu',
    ),
    replace: `$1${redacted}@`,
  },
  // The incoming webhooks of chats: their path is what authorizes. They are told as the command line shows them.
  {
    find: new RegExp(
      String.raw`(hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com|\.webhook\.office\.com|\.logic\.azure\.(?:com|us)(?::\d+)?|\.powerplatform\.(?:com|microsoft\.us)(?::\d+)?)${slash}(?!…)[^\s"'<>\\]+`,
      'gi',
    ),
    replace: '$1/…',
  },
  { find: new RegExp(`(${slash}hooks${slash})[A-Za-z0-9]{12,}`, 'gi'), replace: `$1${redacted}` },
  // Headers to the end of their line, and of those that are folded.
  {
    find: new RegExp(
      String.raw`((?:authorization|cookie)2?${between})(?![\s"'\\]*\[Redacted\])[^\r\n]+(?:\r\n[ \t]+[^\r\n]+)*`,
      'gi',
    ),
    replace: `$1${redacted}`,
  },
  { find: /\b(bearer|negotiate)((?:\s|%20|\+)+)(?!\[Redacted\])[^\s"',;<>\\]+/gi, replace: `$1$2${redacted}` },
  {
    find: /\b(basic|digest)((?:\s|%20|\+)+)(?!auth|realm|\[Redacted\])[^\s"',;<>\\]{4,}/gi,
    replace: `$1$2${redacted}`,
  },
  {
    find: new RegExp(
      String.raw`(${secretNames})([\w-]{0,32})(${between})(${escapedValue}|"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\[(?!Redacted\]|…\])[^[\]]*(?:\]|${cutEnd})|(?!\[Redacted\])["']?[^\s&;,"'<>()[\]{}\\]+)`,
      'gi',
    ),
    replace: (whole, name = '', rest = '', sign = '', value = '') => {
      // Split at white space as well, this would take the square of its length.
      const listed = value.startsWith('[')
        ? value
            .slice(1, -1)
            .split(',')
            .map(one => one.trim())
        : value;
      if (isPlainId(name + rest, listed) || bucket.test(value)) return whole;
      if (value.startsWith('\\')) return name + rest + sign + value.slice(0, value.indexOf('"') + 1) + redacted;
      const quote = /^["']/.exec(value)?.[0];
      if (quote === undefined || value.length === 1 || !value.endsWith(quote)) return name + rest + sign + redacted;
      return name + rest + sign + quote + redacted + quote;
    },
  },
  { find: /(ib_)(\d{1,16})(_)[A-Za-z0-9_-]+/gi, replace: `$1$2$3${redacted}` },
  // What OAuth issues: an access token, a refresh token, a code, what reads a registration.
  { find: /(ib[acgr]_)[A-Za-z0-9_-]{16,}/gi, replace: `$1${redacted}` },
  { find: /(whsec_)[A-Za-z0-9+/=_%-]+/gi, replace: `$1${redacted}` },
  // The cookies of a session and of a known browser, apart from their header.
  { find: /(idea_board_(?:session|browser)=)(?!\[Redacted\])[^\s;,"'<>\\]+/g, replace: `$1${redacted}` },
  // Links that confirm an address: <field>.<user>.<end>.<basis>.<address>.<what authorizes>
  {
    find: /(\b(?:notification_)?email\.\d{1,16}\.\d{1,12}\.)[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{1,2000}\.[A-Za-z0-9_-]{43}/g,
    replace: `$1${redacted}`,
  },
  // Links that end a subscription: <user>.<idea or all>.<what authorizes>
  { find: /(\d{1,16}\.(?:\d{1,16}|all)\.)[A-Za-z0-9_-]{43}/g, replace: `$1${redacted}` },
  // Links to accept an invitation, also where one is told to go on to after signing in.
  { find: /((?:\/|%(?:25)*2F)invitations(?:\/|%(?:25)*2F))[A-Za-z0-9_-]{43}/gi, replace: `$1${redacted}` },
  // What PostgreSQL quotes of a value that it could not read, to the last mark of the line.
  {
    find: new RegExp(
      String.raw`((?:invalid input (?:syntax|value) for [^":\r\n]{1,80}|invalid value for parameter "[^"\r\n]{1,80}"|malformed \w{1,20} literal|field value out of range): )"(?:[^\r\n]*${cutEnd}|[^\r\n]*")`,
      'gi',
    ),
    replace: `$1"${redacted}"`,
  },
  { find: /(\bvalue )"[^\r\n]*(?:"( is out of range)|\[…\]$)/gi, replace: `$1"${redacted}"$2` },
  // The row that violates a constraint, which the ORM appends to PostgreSQL's message.
  { find: /(\n - detail: )(?!\[Redacted\])[\s\S]*?(?=\n[ \t]+at |$)/g, replace: `$1${redacted}` },
];

/** Where one of the patterns may apply: most lines of a log have nothing of it, and cost this alone. */
const suspicion = new RegExp(
  String.raw`:\/\/|hooks|discord|azure|office|powerplatform|invitations|auth|cookie|bearer|basic|digest|negotiate|ib_\d|ib[acgr]_|whsec_|idea_board_|\.[\w-]{43}|literal|invalid|out of range| - detail: |${secretNames}`,
  'i',
);

/** Takes what authorizes out of a text: tokens, passwords, keys, cookies, and URLs that are as good as one. */
export function redactSecrets(text: string): string {
  if (!suspicion.test(text)) return text;
  let result = text;
  for (const { find, replace } of patterns) result = result.replace(find, replace as string);
  return result;
}

const namesInFields =
  /authorization|cookie|passw|passphrase|passcode|pwd|secret|token|credential|apikey|appkey|accesskey|privatekey|signingkey|encryptionkey|idempotencykey|verifier|assertion|signature|jwt|dsn|sessionid|csrf|xsrf|bearer/;
const shortNames = new Set(['auth', 'pass', 'pw', 'sid', 'sig', 'otp', 'pin']);

/** Whether a field is named after a secret, however the name is written. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return shortNames.has(plain) || namesInFields.test(plain);
}

const secretHeader = /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?|x-(?:api-key|auth-token))$/i;

/** Whether what follows in a list of headers, of which each is a name and then a value, is a secret. */
export function isSecretHeader(name: unknown): boolean {
  return typeof name === 'string' && secretHeader.test(name);
}

/** `tokenId: 7` says which token it was, and opens nothing. */
export function isPlainId(name: string, value: unknown): boolean {
  if (!/ids?$/i.test(name) || /session[_-]?id$/i.test(name)) return false;
  if (Array.isArray(value)) return value.every(one => isPlainId('id', one));
  return value === undefined || value === null || /^\d{1,16}$/.test(String(value));
}
