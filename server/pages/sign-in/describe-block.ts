import { t } from '../../text/catalogue.ts';
import { showList, shownName } from '../shell/show.ts';

/** Explains a refused sign-in to a user whom accounts block. Returns the text without a period. */
export function describeBlock(accounts: readonly string[]): string {
  return t('sign_in.blocked', { accounts: showList(accounts.map(shownName)) });
}
