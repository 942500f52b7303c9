import type { ChatKind } from '../../entities/chat-channel.ts';
import { type AddressGuard, problemOfUrl } from '../../outgoing/address-guard.ts';
import { t } from '../../text/catalogue.ts';

/** The `purpose` argument for SecretBox when it encrypts or decrypts the URL of a chat channel. */
export const chatUrlPurpose = 'chat channel url';

interface UrlForm {
  /**
   * The allowed hosts and parent domains. Undefined for Mattermost, because people host Mattermost themselves, some of
   * them without TLS.
   */
  hosts?: string[];
  path: RegExp;
  /** An example of a valid URL, for the error message. */
  example: string;
}

const forms: Record<ChatKind, UrlForm> = {
  slack: {
    hosts: ['hooks.slack.com', 'hooks.slack-gov.com'],
    path: /^\/services\/[^/]+\/[^/]+\/[^/]+$/,
    example: 'https://hooks.slack.com/services/…',
  },
  discord: {
    hosts: ['discord.com', 'discordapp.com'],
    path: /^\/api\/(v\d+\/)?webhooks\/\d+\/[^/]+$/,
    example: 'https://discord.com/api/webhooks/…',
  },
  mattermost: {
    path: /\/hooks\/[^/]+$/,
    example: 'https://mattermost.example.com/hooks/…',
  },
  teams: {
    hosts: [
      'logic.azure.com',
      'logic.azure.us',
      'api.powerplatform.com',
      'api.gov.powerplatform.microsoft.us',
      'webhook.office.com',
    ],
    path: /^\/(workflows|powerautomate|webhookb2)\//,
    example: 'https://….environment.api.powerplatform.com/powerautomate/…',
  },
};

const maxUrlLength = 2000;

/**
 * Returns an explanation if a URL is not an incoming webhook of the chat service, or undefined if the URL is valid. The
 * explanation never contains the URL, because the URL is a secret.
 */
export function problemOfChatUrl(kind: ChatKind, text: string, guard?: AddressGuard): string | undefined {
  const { hosts, path, example } = forms[kind];
  const subject = t('refusals.url.subject');
  if (text.length > maxUrlLength) return t('refusals.url.too_long', { subject, max: maxUrlLength });
  const problem = problemOfUrl(text, guard);
  if (problem) return t(`refusals.url.${problem}`, { subject });
  const { protocol, hostname, pathname, hash } = new URL(text);
  const isHost = hosts === undefined || hosts.some(host => hostname === host || hostname.endsWith(`.${host}`));
  const isSecure = hosts === undefined || protocol === 'https:';
  return isHost && isSecure && path.test(pathname) && hash === ''
    ? undefined
    : t('refusals.url.chat', { subject, example });
}

export function maskChatUrl(url: string): string {
  return `${new URL(url).origin}/…`;
}
