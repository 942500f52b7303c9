import type { ChatKind } from '../../entities/chat-channel.ts';
import { type AddressGuard, problemOfUrl } from '../../outgoing/address-guard.ts';

/** What the URLs of channels are encrypted for. */
export const chatUrlPurpose = 'chat channel url';

interface UrlForm {
  /** Each kind but Mattermost, which people run in their own networks, is a service of the internet. */
  protocols: string[];
  /** The host, or the end of it after a dot; undefined for a host of one's own. */
  hosts: string[] | undefined;
  path: RegExp;
  /** What such a URL looks like, for the refusal. */
  example: string;
}

const forms: Record<ChatKind, UrlForm> = {
  slack: {
    protocols: ['https:'],
    hosts: ['hooks.slack.com', 'hooks.slack-gov.com'],
    path: /^\/services\/[^/]+\/[^/]+\/[^/]+$/,
    example: 'https://hooks.slack.com/services/…',
  },
  discord: {
    protocols: ['https:'],
    hosts: ['discord.com', 'discordapp.com'],
    path: /^\/api\/(v\d+\/)?webhooks\/\d+\/[^/]+$/,
    example: 'https://discord.com/api/webhooks/…',
  },
  mattermost: {
    protocols: ['https:', 'http:'],
    hosts: undefined,
    path: /\/hooks\/[^/]+$/,
    example: 'https://mattermost.example.com/hooks/…',
  },
  teams: {
    protocols: ['https:'],
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

/** What is wrong with the URL of an incoming webhook; undefined when it is one of the kind. Says nothing of the URL. */
export function problemOfChatUrl(kind: ChatKind, text: string, guard?: AddressGuard): string | undefined {
  const { protocols, hosts, path, example } = forms[kind];
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`;
  const problem = problemOfUrl(text, guard);
  if (problem) return problem;
  const url = new URL(text);
  const isHost = hosts === undefined || hosts.some(host => url.hostname === host || url.hostname.endsWith(`.${host}`));
  const isOfKind = protocols.includes(url.protocol) && isHost && path.test(url.pathname) && url.hash === '';
  return isOfKind ? undefined : `must be that of an incoming webhook, such as ${example}`;
}

/** A URL without what authorizes posting. */
export function maskChatUrl(url: string): string {
  return `${new URL(url).origin}/…`;
}
