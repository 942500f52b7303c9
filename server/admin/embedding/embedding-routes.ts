import type { ServerDependencies } from '../../dependencies.ts';
import { updateAccount } from '../../domain/accounts/edit-account.ts';
import { requireAccountById } from '../../domain/accounts/find-account.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { maxEmbeddingOrigins } from '../../domain/embedding/origins.ts';
import {
  createEmbeddingSecret,
  deleteEmbeddingSecret,
  listEmbeddingSecrets,
  maxEmbeddingSecrets,
  requireEmbeddingSecret,
} from '../../domain/embedding/secrets.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { embeddedPath } from '../../pages/boards/opened-board.ts';
import { newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { showStored, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { frameCode, pageCode, tokenCode } from './snippets.ts';

const path = '/admin/account/embedding';
const secretsPath = `${path}/secrets`;

const notices = textKeysIn('embedding.notices');

/**
 * The pages with the origins that may embed the boards of an account, and with the secrets for signing in users of
 * embedded boards.
 */
export function embeddingRoutes({ appKey, config }: ServerDependencies): Route[] {
  const secretBox = buildSecretBox(appKey);

  return [
    { path, show: showEmbedding, run: saveOrigins },
    { path: secretsPath, show: visit => visit.path(path), run: createSecret, again: showEmbedding },
    {
      path: `${secretsPath}/:id/delete`,
      ask: async visit => {
        const { createdAt } = await visit.administer(admin =>
          requireEmbeddingSecret(admin, visit.account.id, visit.id()),
        );
        return {
          heading: t('embedding.secrets.delete_heading_html', { time: showTime(createdAt).text }),
          explanation: t('embedding.secrets.delete_explanation'),
          button: t('embedding.secrets.delete_button'),
          back: { label: t('embedding.secrets.keep'), href: visit.path(path) },
        };
      },
      run: async visit => {
        await visit.administer(admin => deleteEmbeddingSecret(admin, visit.account.id, visit.id()));
        return visit.path(path, { notice: 'deleted' });
      },
    },
  ];

  async function showEmbedding(visit: Visit, problem?: Problem) {
    const found = await visit.administer(async admin => {
      const { id, embeddingOrigins } = await requireAccountById(admin, visit.account.id);
      const secrets = await listEmbeddingSecrets(admin, id);
      return { embeddingOrigins, secrets, boards: await listBoardNames(admin, id) };
    });
    const isOriginRefused = problem !== undefined && visit.request.routeOptions.url === path;
    const data = {
      origins: isOriginRefused ? visit.field('origins') : found.embeddingOrigins.join('\n'),
      isOriginRefused,
      maxOrigins: maxEmbeddingOrigins,
      secrets: found.secrets.map(({ id, created_at, last_used_at }) => ({
        id,
        name: t('embedding.secrets.name', { time: showTime(new Date(created_at)).text }),
        lastUsed: showStored(last_used_at),
        deletePath: visit.path(`${secretsPath}/${id}/delete`),
      })),
      mayCreate: found.secrets.length < maxEmbeddingSecrets,
      formId: newFormId(),
      frameCode: frameCode({ src: addressOf(visit, found.boards[0]?.slug ?? 'board') }),
    };
    return visit.page('embedding/embedding', t('embedding.title'), data, { notices, problem });
  }

  async function saveOrigins(visit: Visit) {
    const embeddingOrigins = visit
      .field('origins')
      .split(/[\s,]+/)
      .filter(origin => origin !== '');
    await visit.administer(async admin =>
      updateAccount(admin, await requireAccountById(admin, visit.account.id), { embeddingOrigins }),
    );
    return visit.path(path, { notice: 'saved' });
  }

  /** Shows the new secret in the answer to the POST. No later page shows the secret. */
  async function createSecret(visit: Visit) {
    const { secret, boards } = await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const made = await createEmbeddingSecret(admin, secretBox, visit.account.id);
      return { secret: made, boards: await listBoardNames(admin, visit.account.id) };
    });
    const data = {
      secret,
      tokenCode: tokenCode(config.BASE_URL),
      pageCode: pageCode(addressOf(visit, boards[0]?.slug ?? 'board')),
    };
    return visit.page('embedding/secret', t('embedding.secrets.created'), data, { status: 201 });
  }

  /** The URL names the account, because boards of several accounts may have the same slug. */
  function addressOf({ account }: Visit, slug: string): string {
    return `${config.BASE_URL}${embeddedPath(slug)}?${new URLSearchParams({ account: account.slug })}`;
  }
}
