import type { ServerDependencies } from '../../dependencies.ts';
import { readAccount } from '../../domain/accounts/find-account.ts';
import { AdministrationError } from '../../domain/administration.ts';
import {
  checkIssuer,
  createProvider,
  deleteProvider,
  listProviders,
  type ProviderListing,
  providerSecretPurpose,
  requireProvider,
  updateProvider,
} from '../../domain/identities/providers.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import type { OpenidClient, ProviderAccess } from '../../openid/openid-client.ts';
import { ProviderError, type ProviderErrorReason } from '../../openid/provider-error.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { showCount, shownName, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { callbackUrl, providerPath } from '../../pages/sign-in/provider-paths.ts';
import { type TextKey, t, textKeysIn } from '../../text/catalogue.ts';

const notices = textKeysIn('identities.notices');

const problems = {
  unreachable: 'identities.problems.unreachable',
  issuer: 'identities.problems.other_issuer',
  invalid: 'identities.problems.metadata',
  denied: 'identities.problems.metadata',
} as const satisfies Record<ProviderErrorReason, TextKey>;

const path = '/admin/account/providers';

/** The pages for the OpenID Connect providers of an account. */
export function providerRoutes(server: ServerDependencies, openid: OpenidClient): Route[] {
  const secretBox = buildSecretBox(server.appKey);
  const guard = buildAddressGuard(server.config.WEBHOOK_ALLOWED_CIDRS);

  return [
    { path, show: showList, run: addProvider },
    { path: `${path}/:id`, show: showProvider, run: saveProvider },
    {
      path: `${path}/:id/delete`,
      ask: async visit => {
        const { name, identity_count: count } = await readProvider(visit);
        return {
          heading: t('shell.questions.delete_html', { name: shownName(name) }),
          explanation: showCount('identities.delete.explanation', count),
          button: t('identities.delete.button'),
          back: { label: t('identities.delete.back'), href: visit.path(`${path}/${visit.id()}`) },
        };
      },
      run: removeProvider,
    },
  ];

  async function addProvider(visit: Visit) {
    const { issuer: entered, clientSecret = '', ...fields } = formIn(visit);
    const issuer = checkIssuer(entered, guard);
    await check({ issuer, clientId: fields.clientId, clientSecret });
    await visit.administer(admin =>
      createProvider(admin, secretBox, { ...fields, clientSecret, issuer, accountId: visit.account.id }),
    );
    return visit.path(path, { notice: 'added' });
  }

  /** If the form's field for the client secret is empty, the stored secret stays. */
  async function saveProvider(visit: Visit) {
    const accountId = visit.account.id;
    const { issuer: _issuer, ...fields } = formIn(visit);
    const known = await visit.administer(admin => requireProvider(admin, accountId, visit.id()));
    const clientSecret = fields.clientSecret ?? secretBox.open(known.clientSecret, providerSecretPurpose(accountId));
    await check({ issuer: known.issuer, clientId: fields.clientId, clientSecret });
    await visit.administer(async admin =>
      updateProvider(admin, secretBox, await requireProvider(admin, accountId, visit.id()), fields),
    );
    return visit.path(`${path}/${visit.id()}`, { notice: 'saved' });
  }

  /**
   * Checks that the provider answers before the server stores the provider. Otherwise an admin could save a provider
   * that signs nobody in.
   */
  async function check(access: ProviderAccess) {
    if (access.clientId === '') throw new AdministrationError('invalid', t('identities.problems.no_client_id'));
    if (access.clientSecret === '') throw new AdministrationError('invalid', t('identities.problems.no_secret'));
    try {
      await openid.check(access);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw new AdministrationError('invalid', t(problems[error.reason]), { cause: error });
    }
  }
}

async function removeProvider(visit: Visit) {
  await visit.administer(async admin =>
    deleteProvider(admin, await requireProvider(admin, visit.account.id, visit.id())),
  );
  return visit.path(path, { notice: 'deleted' });
}

async function showList(visit: Visit, problem?: Problem) {
  const { providers, account } = await visit.administer(async admin => ({
    providers: await listProviders(admin, visit.account.id),
    account: await readAccount(admin, visit.account.id),
  }));
  const data = {
    providers: providers.map(provider => present(visit, provider)),
    redirectUri: callbackUrl(visit.server.config, visit.account.id),
    form: problem ? formIn(visit) : emptyForm,
    requiresProvider: account.requires_provider,
  };
  return visit.page('providers/list', t('identities.admin.title'), data, { notices, problem });
}

async function showProvider(visit: Visit, problem?: Problem) {
  const provider = await readProvider(visit);
  const stored = {
    name: provider.name,
    issuer: provider.issuer,
    clientId: provider.client_id,
    admitsEverybody: provider.admits_everybody,
  };
  const data = {
    provider: present(visit, provider),
    redirectUri: callbackUrl(visit.server.config, visit.account.id),
    form: problem ? formIn(visit) : stored,
  };
  return visit.page('providers/provider', shownName(provider.name), data, { notices, problem });
}

async function readProvider(visit: Visit): Promise<ProviderListing> {
  const id = visit.id();
  const providers = await visit.administer(admin => listProviders(admin, visit.account.id));
  const provider = providers.find(one => one.id === id);
  if (!provider) throw new AdministrationError('not_found', t('identities.problems.gone'));
  return provider;
}

function present(visit: Visit, { id, key, name, issuer, ...provider }: ProviderListing) {
  return {
    name: shownName(name),
    issuer,
    href: visit.path(`${path}/${id}`),
    deletePath: visit.path(`${path}/${id}/delete`),
    signInUrl: visit.server.config.BASE_URL + providerPath(key),
    people: showCount('identities.admin.people', provider.identity_count),
    created: showTime(new Date(provider.created_at)),
  };
}

const emptyForm = { name: '', issuer: '', clientId: '', admitsEverybody: false };

function formIn(visit: Visit) {
  return {
    name: visit.field('name'),
    issuer: visit.field('issuer'),
    clientId: visit.field('client_id').trim(),
    clientSecret: visit.field('client_secret').trim() || undefined,
    admitsEverybody: visit.field('admits_everybody') !== '',
  };
}
