import { AdministrationError } from './administration.ts';

/*
 * The forms of what an administrator enters, with the bounds of the schema's constraints: so that the refusal is a
 * sentence instead of the name of a constraint. Each check answers the value to store.
 */

const slugForm = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function checkSlug(value: string): string {
  if (slugForm.test(value)) return value;
  throw invalid(
    `The slug ${quote(value)} must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end`,
  );
}

const keyForm = /^[a-z0-9][a-z0-9_-]{0,49}$/;

export function checkStatusKey(value: string): string {
  if (keyForm.test(value)) return value;
  throw invalid(
    `The key ${quote(value)} must be 1 to 50 lower-case letters, digits, hyphens and underscores, beginning with a letter or digit`,
  );
}

/** Plans are named in a setting with commas between, so their names have the form of a key. */
export function checkPlan(value: string): string {
  if (keyForm.test(value)) return value;
  throw invalid(
    `The plan ${quote(value)} must be 1 to 50 lower-case letters, digits, hyphens and underscores, beginning with a letter or digit`,
  );
}

/** Six hexadecimal digits after #, in lower case. */
export function checkColor(value: string): string {
  const color = value.toLowerCase();
  if (/^#[0-9a-f]{6}$/.test(color)) return color;
  throw invalid(`The color ${quote(value)} must be # and six hexadecimal digits, such as #0f766e`);
}

/** The longest path that SMTP carries (RFC 5321, section 4.5.3.1.3), less its angle brackets. */
const maxEmailLength = 254;

/** An address that could be one: only mail sent to it tells more. */
export function checkEmail(value: string): string {
  const email = value.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what an address must not have.
  const isAddress = /^[^\s@\u0000-\u001f\u007f]+@[^\s@\u0000-\u001f\u007f]+$/.test(email) && email.isWellFormed();
  if (isAddress && email.length <= maxEmailLength) return email;
  throw invalid(`${quote(value)} is not an e-mail address`);
}

/** What a thing is called, on one line. */
export function checkName(value: string, max: number, field = 'name'): string {
  const name = checkText(value, 1, max, field);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a name must not have.
  if (/[\u0000-\u001f\u007f]/.test(name)) throw invalid(`The ${field} must be on one line`);
  return name;
}

/** Text of min to max characters after trimming, counted as PostgreSQL counts them. */
export function checkText(value: string, min: number, max: number, field: string): string {
  const text = value.trim();
  // PostgreSQL stores no NUL, and a lone surrogate is no character.
  if (text.includes('\0') || !text.isWellFormed()) throw invalid(`The ${field} has a character that cannot be stored`);
  const length = [...text].length;
  if (length < min) throw invalid(`The ${field} must not be empty`);
  if (length > max) throw invalid(`The ${field} must have at most ${max} characters; it has ${length}`);
  return text;
}

const maxQuotedLength = 80;

/** A value in quotation marks, on one line and not without end, for a message. */
export function quote(value: string): string {
  return JSON.stringify(value.length > maxQuotedLength ? `${value.slice(0, maxQuotedLength)}…` : value);
}

function invalid(message: string) {
  return new AdministrationError('invalid', message);
}
