import { expect, test } from 'vitest';
import { maskChatUrl, problemOfChatUrl } from '../../../server/domain/chat/chat-url.ts';
import { type ChatKind, chatKinds } from '../../../server/entities/chat-channel.ts';

const workflow =
  'https://default1234.56.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/abc/triggers/manual/paths/invoke?api-version=1&sig=secret';

const valid: [ChatKind, string][] = [
  ['slack', 'https://hooks.slack.com/services/T000/B000/secret'],
  ['slack', 'https://hooks.slack-gov.com/services/T000/B000/secret'],
  ['discord', 'https://discord.com/api/webhooks/123/secret-_x'],
  ['discord', 'https://canary.discord.com/api/v10/webhooks/123/secret?thread_id=5'],
  ['discord', 'https://discordapp.com/api/webhooks/123/secret'],
  ['mattermost', 'https://chat.example.com/hooks/secret'],
  ['mattermost', 'http://10.0.0.8:8065/team/hooks/secret'],
  ['teams', workflow],
  ['teams', 'https://prod-12.westeurope.logic.azure.com:443/workflows/abc/triggers/manual/paths/invoke?sig=secret'],
  ['teams', 'https://acme.webhook.office.com/webhookb2/abc/IncomingWebhook/def/ghi'],
];

test.each(valid)(
  'a chat channel of the kind %s accepts the URL %s, and channels of other hosted services reject the URL',
  (kind, url) => {
    expect(problemOfChatUrl(kind, url)).toBeUndefined();
    for (const other of chatKinds.filter(one => one !== kind && one !== 'mattermost')) {
      expect(problemOfChatUrl(other, url), other).toBeDefined();
    }
  },
);

test.each<[ChatKind, string]>([
  ['slack', 'http://hooks.slack.com/services/T000/B000/secret'],
  ['slack', 'https://hooks.slack.com.evil.example/services/T000/B000/secret'],
  ['slack', 'https://evilhooks.slack.com/services/T000/B000/secret'],
  ['slack', 'https://user:pass@hooks.slack.com/services/T000/B000/secret'],
  ['slack', 'https://hooks.slack.com/triggers/T000/B000/secret'],
  ['slack', 'https://hooks.slack.com/services/T000/B000/secret#x'],
  ['slack', 'hooks.slack.com/services/T000/B000/secret'],
  ['discord', 'https://discord.com/channels/1/2'],
  ['mattermost', 'ftp://chat.example.com/hooks/secret'],
  ['mattermost', 'https://chat.example.com/'],
  ['mattermost', `https://chat.example.com/hooks/${'x'.repeat(2000)}`],
  ['teams', 'https://example.com/workflows/abc'],
  ['teams', 'file:///etc/passwd'],
])('a chat channel of the kind %s rejects the URL %s, and the error message does not repeat the URL', (kind, url) => {
  const problem = problemOfChatUrl(kind, url);
  expect(problem).toMatch(/^The URL (is|must)/);
  expect(problem).not.toContain('secret');
});

test('a masked chat URL shows only its origin, not its secret path', () => {
  for (const [, url] of valid) {
    const shown = maskChatUrl(url);
    expect(shown).toBe(`${new URL(url).origin}/…`);
    expect(shown).not.toContain('secret');
  }
});
