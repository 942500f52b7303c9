import { AdministrationError } from './administration.ts';
import { canonicalAddress, domainInAscii, maxAddressLength, splitAddress } from './users/canonical-address.ts';

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
  return checkKey(value, 'key');
}

/** Plans are named in a setting with commas between, so their names have the form of a key. */
export function checkPlan(value: string): string {
  return checkKey(value, 'plan');
}

function checkKey(value: string, field: 'key' | 'plan'): string {
  if (keyForm.test(value)) return value;
  throw invalid(
    `The ${field} ${quote(value)} must be 1 to 50 lower-case letters, digits, hyphens and underscores, beginning with a letter or digit`,
  );
}

/** Six hexadecimal digits after #, in lower case. */
export function checkColor(value: string): string {
  const color = value.toLowerCase();
  if (/^#[0-9a-f]{6}$/.test(color)) return color;
  throw invalid(`The color ${quote(value)} must be # and six hexadecimal digits, such as #0f766e`);
}

/**
 * Characters that nobody sees: controls, format characters, what fonts leave out, the blank of Braille, and code points that
 * have no character yet.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * An address that could be one: only mail sent to it tells more. It stays as it was typed, but in NFKC: the mailbox that
 * confirms an address must be the one that its canonical form names.
 */
export function checkEmail(value: string): string {
  const typed = value.trim();
  const [unseen] = (typed.length <= maxAddressLength && invisible.exec(typed)) || [];
  if (unseen !== undefined) {
    throw invalid(`The address has an invisible character, ${codePointOf(unseen)}: type it without`);
  }
  if (typed.length <= maxAddressLength && isAddress(typed)) return typed.normalize('NFKC');
  throw invalid(`${quote(value)} is not an e-mail address`);
}

function isAddress(typed: string): boolean {
  const email = typed.normalize('NFKC');
  const hasForm = [email, canonicalAddress(email)].every(
    text => text.length <= maxAddressLength && /^[^\s@]+@[^\s@]+$/.test(text),
  );
  return hasForm && typed.isWellFormed() && domainInAscii(splitAddress(email).domain) !== undefined;
}

/** `U+200B` */
function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
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
