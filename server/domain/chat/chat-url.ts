import type { ChatKind } from '../../entities/chat-channel.ts';
import { type AddressGuard, problemOfUrl } from '../../outgoing/address-guard.ts';

/** The purpose of encrypted channel URLs, for the secret box. */
export const chatUrlPurpose = 'chat channel url';

interface UrlForm {
  /** The hosts and parent domains of a hosted service; undefined for Mattermost, which also runs without TLS. */
  hosts?: string[];
  path: RegExp;
  /** An example for the error message. */
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

/** Describes the problem of a URL that is no incoming webhook of the chat. Never repeats the URL, which is a secret. */
export function problemOfChatUrl(kind: ChatKind, text: string, guard?: AddressGuard): string | undefined {
  const { hosts, path, example } = forms[kind];
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`;
  const problem = problemOfUrl(text, guard);
  if (problem) return problem;
  const { protocol, hostname, pathname, hash } = new URL(text);
  const isHost = hosts === undefined || hosts.some(host => hostname === host || hostname.endsWith(`.${host}`));
  const isSecure = hosts === undefined || protocol === 'https:';
  return isHost && isSecure && path.test(pathname) && hash === ''
    ? undefined
    : `must be the URL of an incoming webhook, such as ${example}`;
}

/** Removes the secret part of a URL. */
export function maskChatUrl(url: string): string {
  return `${new URL(url).origin}/…`;
}
