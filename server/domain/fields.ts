import type { EventType } from '../../contract/events.ts';
import { t } from '../text/catalogue.ts';
import { invalid } from './administration.ts';
import { canonicalAddress, domainInAscii, maxAddressLength, splitAddress } from './users/canonical-address.ts';

/*
 * Checks of the fields that administrators enter. They repeat the constraints of the database schema, so that an error
 * message is a sentence and not the name of a constraint. Each check returns the value to store.
 */

/** The fields that an error message can name. */
type FieldName = 'name' | 'key' | 'plan' | 'label' | 'description' | 'reason' | 'client_id' | 'client_secret';

function nameOf(field: FieldName): string {
  return t(`refusals.field.${field}`);
}

const slugForm = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function checkSlug(value: string): string {
  if (slugForm.test(value)) return value;
  throw invalid(t('refusals.text.slug', { slug: quote(value) }));
}

const keyForm = /^[a-z0-9][a-z0-9_-]{0,49}$/;

/** Checks the name of a plan. The name must not contain a comma, because a setting lists plans separated by commas. */
export const checkPlan = (value: string) => checkKey(value, 'plan');

export function checkKey(value: string, field: FieldName = 'key'): string {
  if (keyForm.test(value)) return value;
  throw invalid(t('refusals.text.key', { field: nameOf(field), value: quote(value) }));
}

export function checkColor(value: string): string {
  const color = value.toLowerCase();
  if (/^#[0-9a-f]{6}$/.test(color)) return color;
  throw invalid(t('refusals.text.color', { color: quote(value) }));
}

/**
 * Invisible characters: control, format, private, unassigned and default-ignorable code points, and the Braille blank.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Checks only the format of an e-mail address, because a confirmation mail has to prove that the mailbox exists.
 * Converts the address to NFKC, so that the confirmation mail goes to the mailbox of the canonical address.
 */
export function checkEmail(value: string): string {
  const typed = value.trim();
  const [unseen] = (typed.length <= maxAddressLength && invisible.exec(typed)) || [];
  if (unseen !== undefined) {
    throw invalid(t('refusals.text.invisible_in_address', { character: codePointOf(unseen) }));
  }
  if (typed.length <= maxAddressLength && isAddress(typed)) return typed.normalize('NFKC');
  throw invalid(t('refusals.text.address', { address: quote(value) }));
}

function isAddress(typed: string): boolean {
  const email = typed.normalize('NFKC');
  const hasForm = [email, canonicalAddress(email)].every(
    text => text.length <= maxAddressLength && /^[^\s@]+@[^\s@]+$/.test(text),
  );
  return hasForm && typed.isWellFormed() && domainInAscii(splitAddress(email).domain) !== undefined;
}

function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

export function checkName(value: string, max: number, field: FieldName = 'name'): string {
  const name = checkText(value, 1, max, field);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name must not contain these characters.
  if (/[\u0000-\u001f\u007f]/.test(name)) throw invalid(t('refusals.text.one_line', { field: nameOf(field) }));
  return name;
}

/** Trims a text and checks its length, which is counted in code points as in PostgreSQL. */
export function checkText(value: string, min: number, max: number, name: FieldName): string {
  const text = value.trim();
  const field = nameOf(name);
  // PostgreSQL cannot store a NUL character. A lone surrogate is not a valid character.
  if (text.includes('\0') || !text.isWellFormed()) throw invalid(t('refusals.text.not_storable', { field }));
  const length = [...text].length;
  if (length < min) throw invalid(t('refusals.text.empty', { field }));
  if (length > max) throw invalid(t('refusals.text.too_long', { field, max, length }));
  return text;
}

export function checkEventTypes<Type extends EventType>(values: readonly string[], known: readonly Type[]): Type[] {
  const unknown = values.find(value => !known.includes(value as Type));
  if (unknown === undefined) return [...new Set(values as readonly Type[])];
  throw invalid(t('refusals.text.event_type', { type: quote(unknown), known: known.join(', ') }));
}

const maxQuotedLength = 80;

export function quote(value: string): string {
  return JSON.stringify(value.length > maxQuotedLength ? `${value.slice(0, maxQuotedLength)}…` : value);
}
