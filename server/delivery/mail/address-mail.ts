import type { AddressField } from '../../domain/users/address-token.ts';
import { writeLinkMail } from './link-mail.ts';
import type { MailContent } from './mail-content.ts';

const purposes: Record<AddressField, string> = {
  email: 'Somebody wants to sign in to Idea-Board with this address. If it was you, confirm it',
  notification_email: 'Somebody wants to get notifications from Idea-Board at this address. If it was you, confirm it',
};

/** Writes the mail with a link by which somebody confirms an address. It says nothing of who asked for it. */
export function writeAddressLinkMail({
  field,
  url,
  hours,
}: {
  field: AddressField;
  url: string;
  hours: number;
}): MailContent {
  return writeLinkMail({
    subject: 'Confirm your address for Idea-Board',
    purpose: `${purposes[field]} within ${hours} hours:`,
    link: { label: 'Confirm the address', url },
    otherwise: 'It was not you? Then do nothing: nothing changes, and no more is sent here.',
  });
}

/** Writes what is sent to the address with which somebody signs in when they ask for another one. */
export function writeAddressNoticeMail({ BASE_URL }: { BASE_URL: string }): MailContent {
  return writeLinkMail({
    subject: 'Another address for Idea-Board was asked for',
    purpose:
      'Somebody who knows your password asked to sign in to Idea-Board with another address than this one. It changes when they confirm the other address. It was not you? Then set another password now: it signs everybody out and keeps this address.',
    link: { label: 'Set another password', url: `${BASE_URL}/admin/password-link` },
    otherwise: 'It was you? Then there is nothing to do here.',
  });
}
