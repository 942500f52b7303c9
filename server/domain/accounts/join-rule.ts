import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { type JoinRule, joinRules } from '../../entities/account.ts';
import { t } from '../../text/catalogue.ts';
import { invalid } from '../administration.ts';
import { quote } from '../fields.ts';
import { canonicalAddress, splitAddress } from '../users/canonical-address.ts';

/**
 * The maximum number of e-mail domains in an account's rule for joining. A check constraint of the database has the
 * same number.
 */
export const maxJoinDomains = 20;

/**
 * The setting of an account that decides who may join it without an invitation. `join_domains` contains e-mail domains
 * in their canonical form.
 */
interface JoinSetting {
  join_rule: JoinRule;
  join_domains: string[];
}

/**
 * Whether an account lets the owner of an e-mail address join. The caller must know that the person owns the address.
 */
export function admits({ join_rule: rule, join_domains: domains }: JoinSetting, email: string): boolean {
  return rule === 'everybody' || (rule === 'domains' && domains.includes(domainOf(canonicalAddress(email))));
}

function domainOf(canonicalEmail: string): string {
  return splitAddress(canonicalEmail).domain;
}

/** Checks an account's rule for joining. Returns the domains in their canonical form, without duplicates. */
export function checkJoinSetting(
  rule: string,
  domains: readonly string[],
): { joinRule: JoinRule; joinDomains: string[] } {
  const joinRule = joinRules.find(one => one === rule);
  if (!joinRule) throw invalid(t('refusals.joining.unknown_rule', { rules: joinRules.join(', ') }));
  const joinDomains = [...new Set(domains.map(checkDomain))];
  if (joinRule === 'domains' && joinDomains.length === 0) throw invalid(t('refusals.joining.no_domain'));
  if (joinRule !== 'domains' && joinDomains.length > 0) {
    throw invalid(t('refusals.joining.unused_domains'));
  }
  if (joinDomains.length > maxJoinDomains)
    throw invalid(t('refusals.joining.too_many_domains', { max: maxJoinDomains }));
  return { joinRule, joinDomains };
}

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/**
 * A domain in its canonical form with at least one dot. Its last label must contain a letter, so that an IP address
 * does not match.
 */
const domainForm = new RegExp(`^(?=.{1,253}$)(?:${label}\\.)+(?=[0-9-]*[a-z])${label}$`);

/** Returns a domain in the form that a canonical e-mail address has. The server compares domains in this form. */
function checkDomain(value: string): string {
  const typed = value.trim().replace(/^@/, '');
  const domain = domainOf(canonicalAddress(`x@${typed}`));
  if (!typed.includes('@') && domainForm.test(domain)) return domain;
  throw invalid(t('refusals.joining.invalid_domain', { domain: quote(value) }));
}

/** An account that a person may want to join. */
export type JoinableAccount = RowOf<typeof selectJoinable>;

const selectJoinable = query('select_joinable_account', (db, $: Arguments<{ accountId: number }>) =>
  db
    .selectFrom('accounts')
    .select(['id', 'name', 'join_rule', 'join_domains'])
    .where('id', '=', $.accountId)
    .where('erasure_began_at', 'is', null),
);

/** Returns an account with its rule for joining. Undefined if the account is being erased or does not exist. */
export async function readJoinable(db: Queryable, accountId: number): Promise<JoinableAccount | undefined> {
  const [account] = await db.query(selectJoinable, { accountId });
  return account;
}
