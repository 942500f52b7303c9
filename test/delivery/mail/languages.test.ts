import { afterEach, describe, expect, test } from 'vitest';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { scheduleAccountDeletion } from '../../../server/domain/erasure/request-deletion.ts';
import { createIdea } from '../../../server/domain/ideas/create-idea.ts';
import { inviteMember } from '../../../server/domain/invitations/invite-member.ts';
import { mergeIdea, unmergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { approveIdea, rejectIdea } from '../../../server/domain/moderation/moderate-idea.ts';
import { followIdea } from '../../../server/domain/notifications/followers.ts';
import { addSummaries } from '../../../server/domain/notifications/summaries.ts';
import { notify, type SecondFactorChange } from '../../../server/domain/second-factor/second-factor.ts';
import { requestPasswordLink } from '../../../server/domain/sign-in/password-links.ts';
import { setPassword } from '../../../server/domain/sign-in/set-password.ts';
import { requestSignInLink } from '../../../server/domain/sign-in/sign-in-links.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { addExpiryNotices } from '../../../server/domain/tokens/expiry-notices.ts';
import { type AddressField, requestAddress } from '../../../server/domain/users/change-address.ts';
import { disableEndpoint } from '../../../server/domain/webhooks/disable-endpoint.ts';
import { storedReason } from '../../../server/domain/webhooks/disabled-reason.ts';
import { type Role, roles } from '../../../server/entities/membership.ts';
import { type Language, writeFor } from '../../../server/text/language.ts';
import { emailOf } from '../../admin/visitor.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../../helpers/fixtures.ts';
import { closeAfterAll } from '../../helpers/for-file.ts';
import { runJobs } from '../../helpers/jobs.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { type ReceivedMail, startSmtpReceiver } from '../../helpers/smtp-receiver.ts';
import { addWebhook, administer } from '../../helpers/webhooks.ts';

const smtp = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({ environment: { SMTP_URL: smtp.url, BASE_URL: 'https://ideas.example.com' } });
afterEach(async () => {
  smtp.received.length = 0;
  await server.sql('delete from graphile_worker._private_jobs');
});

/** The test data. The reader receives the mails, is an owner of the account, and follows an idea of another owner. */
interface Scene {
  world: World;
  readerId: number;
  email: string;
  ideaId: number;
  targetId: number;
}

async function prepare(language: Language | null): Promise<Scene> {
  const world = await createWorld(server, { isPublic: true });
  await server.sql(`update accounts set join_rule = 'everybody' where id = $1`, [world.accountId]);
  const readerId = await createMember(server, world.accountId, 'owner', 'Ada');
  await server.sql('update users set language = $2, notification_email = email where id = $1', [readerId, language]);
  const ideaId = await insertIdea(server, world, { title: 'Dark mode' });
  const targetId = await insertIdea(server, world, { title: 'Themes' });
  await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId: readerId }));
  return { world, readerId, email: await emailOf(server, readerId), ideaId, targetId };
}

const byOwner = <T>({ world }: Scene, work: Parameters<typeof runAsUser<T>>[3]) =>
  runAsUser(server, world, world.ownerId, work);

const askAddress = (field: AddressField) => (scene: Scene) =>
  administer(server, admin => requestAddress(admin, { userId: scene.readerId, field, address: 'new@example.org' }));

const tellFactor = (change: SecondFactorChange) => (scene: Scene) =>
  administer(server, admin => notify(admin, scene.readerId, change));

const invite = (role: Role) => (scene: Scene) =>
  administer(server, admin =>
    inviteMember(admin, { accountId: scene.world.accountId, email: 'kim@example.org', role }, { isMailed: true }),
  );

/** Submits an idea of the reader to a board with pre-moderation. Then a moderator approves or rejects the idea. */
const decide = (decision: typeof approveIdea | typeof rejectIdea) => async (scene: Scene) => {
  const { world, readerId } = scene;
  await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
  const idea = { title: 'Export', body: '1 2 3' };
  const { id } = await runAsUser(server, world, readerId, op => createIdea(op, idea), false);
  await administer(server, admin => decision(admin, world.accountId, id, '1 2 3'));
};

/**
 * For each kind of mail, an action that sends such a mail. A mail to a person without a profile is in the language of
 * the request.
 */
const kinds: Record<string, (scene: Scene) => Promise<unknown>> = {
  'a password link': ({ email }) => requestPasswordLink(server.database, email),
  'a sign-in link': ({ email }) => requestSignInLink(server.database, { email, next: '/', board: undefined }),
  'a link to join an account': ({ world }) =>
    requestSignInLink(server.database, { email: 'new@example.org', next: '/', board: world.boardSlug }),
  'a notice about a changed password': async ({ readerId }) => {
    for (const credential of ['$argon2id$first', '$argon2id$second']) {
      await administer(server, admin => setPassword(admin, readerId, credential));
    }
  },
  'a notice that two-factor sign-in is on': tellFactor('enabled'),
  'a notice that two-factor sign-in is off': tellFactor('disabled'),
  'a notice about a used recovery code': tellFactor('recovery_used'),
  'a notice about new recovery codes': tellFactor('codes_regenerated'),
  'a link and a notice about the sign-in address': askAddress('email'),
  'a link for the notification address': askAddress('notification_email'),
  "a notice about the account's deletion": ({ world }) =>
    administer(server, admin => scheduleAccountDeletion(admin, world.accountId)),
  'a notice before the expiry of a token': async ({ world, readerId }) => {
    const expiresAt = new Date(Date.now() + 30 * 86_400_000);
    const { id } = await issueToken(server, world, 'read', { issuerId: readerId, name: '1 2 3', expiresAt });
    await server.sql(`update api_tokens set expires_at = now() + interval '3 days' where id = $1`, [id]);
    await addExpiryNotices(server.database);
  },
  ...Object.fromEntries(roles.map(role => [`an invitation with the role ${role}`, invite(role)])),
  'a notification about a status change': scene => byOwner(scene, op => setIdeaStatus(op, scene.ideaId, 'planned')),
  'a notification about a comment': scene => byOwner(scene, op => commentOnIdea(op, scene.ideaId, '1 2 3')),
  'notifications about a merge and its end': async scene => {
    await byOwner(scene, op => mergeIdea(op, scene.ideaId, scene.targetId));
    await byOwner(scene, op => unmergeIdea(op, scene.ideaId));
  },
  'a notification about the approval of an idea': decide(approveIdea),
  'a notification about the rejection of an idea': decide(rejectIdea),
  'a notification about a pending idea': async scene => {
    await server.sql('update boards set pre_moderation = true where id = $1', [scene.world.boardId]);
    const authorId = await createMember(server, scene.world.accountId, 'member', 'Eve');
    const idea = { title: 'Export', body: '1 2 3' };
    await runAsUser(server, scene.world, authorId, op => createIdea(op, idea), false);
  },
  'a summary of notifications': async scene => {
    await server.sql(`update users set mail_frequency = 'daily' where id = $1`, [scene.readerId]);
    await byOwner(scene, op => setIdeaStatus(op, scene.ideaId, 'planned'));
    await runJobs(server);
    await addSummaries(server.database, 'daily');
  },
  'a notification about a disabled webhook': async ({ world }) => {
    const { id: endpointId } = await addWebhook(server, world, { url: 'https://hooks.example.com/ideas' });
    await server.database.transaction(transaction =>
      disableEndpoint(transaction, { accountId: world.accountId, endpointId }, storedReason('gone')),
    );
  },
};

/**
 * Performs `cause`, an action that sends mails, while the reader's language is `language`. Returns the mails to the
 * reader and to people without a profile.
 */
async function mailsIn(language: Language, cause: (scene: Scene) => Promise<unknown>): Promise<ReceivedMail[]> {
  smtp.received.length = 0;
  const scene = await prepare(language);
  await writeFor({ language }, () => cause(scene));
  expect(await runJobs(server)).toEqual([]);
  return smtp.received.filter(({ to }) => to === scene.email || to.endsWith('@example.org'));
}

const headerOf = ({ mail }: ReceivedMail, name: string) => mail.headers.find(({ key }) => key === name)?.value;

/**
 * Returns the texts that the server wrote in a mail: the lines of the subject and of both parts, without URLs and tags.
 */
function textsOf({ mail }: ReceivedMail): string[] {
  const parts = [mail.subject, mail.text?.replaceAll(/https:\S+/g, ''), mail.html?.replaceAll(/<[^>]+>/g, '\n')];
  const lines = parts.flatMap(part => part?.split('\n') ?? []).map(line => line.trim());
  return lines.filter(line => /\p{L}/u.test(line));
}

describe('the language of a mail', () => {
  test.each(Object.entries(kinds))(
    "if the reader's language is German, the server sends %s in German, without an English text",
    async (_, cause) => {
      const inEnglish = await mailsIn('en', cause);
      const inGerman = await mailsIn('de', cause);
      expect(inEnglish.length).toBeGreaterThan(0);
      expect(inGerman).toHaveLength(inEnglish.length);
      expect(inEnglish.map(one => headerOf(one, 'content-language'))).toEqual(inEnglish.map(() => 'en'));
      const english = inEnglish.flatMap(textsOf);
      for (const one of inGerman) {
        expect([headerOf(one, 'content-language'), one.mail.html?.includes('<html lang="de">')]).toEqual(['de', true]);
        const german = textsOf(one).join('\n');
        expect(english.filter(text => german.includes(text))).toEqual([]);
      }
    },
  );

  test("a mail that a request causes is in the language of the request if the mail's recipient has no language in their profile", async () => {
    const languagesOf = async (profile: Language | null, request: Language) => {
      const { email } = await prepare(profile);
      await writeFor({ language: request }, () => requestPasswordLink(server.database, email));
      await runJobs(server);
      return smtp.received.find(({ to }) => to === email)?.mail.subject;
    };
    const [german, english] = ['Ihr Passwort für Idea-Board festlegen', 'Set your password for Idea-Board'];
    expect(await languagesOf(null, 'de')).toBe(german);
    expect(await languagesOf('en', 'de')).toBe(english);
    expect(await languagesOf('de', 'en')).toBe(german);
    expect(await languagesOf(null, 'en')).toBe(english);
  });

  test("a notification is in the language of its recipient's profile, or else in English, regardless of the language of the person who caused it", async () => {
    for (const [profile, subject] of [
      ['de', '„Dark mode“ ist jetzt planned'],
      [null, '“Dark mode” is now planned'],
    ] as const) {
      const scene = await prepare(profile);
      const causing = profile === null ? 'de' : 'en';
      await writeFor({ language: causing }, () => byOwner(scene, op => setIdeaStatus(op, scene.ideaId, 'planned')));
      await runJobs(server);
      expect(smtp.received.find(({ to }) => to === scene.email)?.mail.subject).toBe(subject);
    }
  });

  test('a date in a mail is written in the language of the mail', async () => {
    const scene = await prepare('de');
    const now = new Date('2026-11-20T20:15:00Z');
    await administer(server, admin => scheduleAccountDeletion({ ...admin, now }, scene.world.accountId));
    await runJobs(server);
    const mail = smtp.received.find(({ to }) => to === scene.email)?.mail;
    expect(mail?.text).toContain('Bis 20. Dezember 2026 um 20:15 UTC ändert sich nichts.');
  });
});
