import { type AddressField, addressUrl } from '../../domain/users/address-token.ts';
import { addressLinkHours, isAddressWanted } from '../../domain/users/change-address.ts';
import { readSignInAddress } from '../../domain/users/find-user.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { writeAddressLinkMail, writeAddressNoticeMail } from './address-mail.ts';
import { mailOne } from './mail-one.ts';

interface AddressLink {
  user_id: number;
  field: AddressField;
  address: string;
  basis: string;
}

/** The task that mails a link to an address which a user wants to have. The link is made here, and is in the mail alone. */
export function mailAddressLink(deps: TaskDependencies) {
  const { config, database, clock, addressTokens } = deps;
  const kind = { name: 'address', plural: 'links to confirm an address' };
  return mailOne<AddressLink>(deps, kind, async ({ user_id: userId, field, address, basis }) => {
    const change = { userId, field, address, basis };
    if (!(await isAddressWanted(database, change))) return undefined;
    const expiresAt = new Date(clock.now().getTime() + addressLinkHours * 3_600_000);
    const url = addressUrl(config, addressTokens.make(change, expiresAt));
    return { ...writeAddressLinkMail({ field, url, hours: addressLinkHours }), to: address, userId };
  });
}

/** The task that tells whoever reads the address with which a user signs in that it is to be another one. */
export function mailAddressNotice(deps: TaskDependencies) {
  const kind = { name: 'address-notice', plural: 'notices of another address' };
  return mailOne<{ user_id: number }>(deps, kind, async ({ user_id: userId }) => {
    const to = await readSignInAddress(deps.database, userId);
    return to === undefined ? undefined : { ...writeAddressNoticeMail(deps.config), to, userId };
  });
}
