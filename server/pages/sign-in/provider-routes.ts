import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, administrationIn } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { buildConnectionTokens } from '../../domain/identities/connection-tokens.ts';
import { findProvider, providerSecretPurpose, type SignInProvider } from '../../domain/identities/providers.ts';
import { type IdentityRefusal, signInWithIdentity } from '../../domain/identities/sign-in-with-identity.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { requestSignInLink, signInLinkMinutes } from '../../domain/sign-in/sign-in-links.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { readMailRecipient } from '../../domain/users/find-user.ts';
import { useOnce } from '../../http/rate-limit.ts';
import type { OpenidClient, ProviderAccess } from '../../openid/openid-client.ts';
import { ProviderError, type ProviderErrorReason } from '../../openid/provider-error.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { FormProblem, type Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { keepLanguageOfBrowser, ordinaryUserOf, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { shownAddress, shownName } from '../shell/show.ts';
import { serveRoutes, type Visit } from '../shell/visit.ts';
import { askForCode } from './code-routes.ts';
import { nextOf, safeNextPath, signInPath } from './next-path.ts';
import { buildProviderFlows, type ProviderFlow } from './provider-flow.ts';
import { callbackUrl, connectPath, providerPath } from './provider-paths.ts';
import { buildThrottle } from './throttle.ts';

const refusals = {
  unverified_address: 'identities.refusals.unverified_address',
  may_not_join: 'identities.refusals.may_not_join',
  blocked: 'identities.refusals.blocked',
} as const satisfies Record<IdentityRefusal, TextKey>;

const failures = {
  denied: { status: 403, text: 'identities.failures.denied' },
  unreachable: { status: 503, text: 'identities.failures.unreachable' },
  issuer: { status: 400, text: 'identities.failures.invalid' },
  invalid: { status: 400, text: 'identities.failures.invalid' },
} as const satisfies Record<ProviderErrorReason, { status: number; text: TextKey }>;

/**
 * Serves the sign-in with an OpenID Connect provider of an account. The new session gives access to only this account.
 */
export function serveProviders(app: FastifyInstance, server: ServerDependencies, openid: OpenidClient) {
  const { appKey, audit, clock, config, database, logger } = server;
  const flows = buildProviderFlows(server);
  const tokens = buildConnectionTokens(appKey);
  const secretBox = buildSecretBox(appKey);
  const throttle = buildThrottle(server);

  const routes = [
    { path: '/sign-in/provider/:key', show: showProvider, run: begin },
    { path: '/sign-in/provider/callback/:account', show: finish },
    { path: '/sign-in/provider/confirm', show: () => '/sign-in', run: mailLink, again: showConfirmation },
  ];
  serveRoutes(app, server, () => undefined, routes, []);

  /**
   * Shows a page with a button that begins the sign-in. Opening this page does not begin the sign-in, because another
   * website could open the page.
   */
  async function showProvider(visit: Visit<undefined>, problem?: Problem) {
    const { key, name, account_name: account } = await requireProvider(visit);
    const data = {
      account: shownName(account),
      providers: [{ name: shownName(name), action: providerPath(key) }],
      next: nextOf(visit),
      signInPath: signInPath(nextOf(visit)),
    };
    return visit.page('provider', t('identities.sign_in.title', { account: data.account }), data, { problem });
  }

  /** Sends the person to the provider. */
  async function begin(visit: Visit<undefined>) {
    const provider = await requireProvider(visit);
    const flow = flows.begin(visit.reply, provider, nextOf(visit));
    const redirectUri = callbackUrl(config, provider.account_id);
    const href = await openid
      .begin(accessOf(provider), redirectUri, flow)
      .catch(error => fail(visit, provider, flow, error));
    return visit.forward(href, shownName(provider.name));
  }

  async function finish(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const accountId = visit.id('account');
    const flow = flows.take(request, reply, { accountId, state: visit.parameter('state') });
    const now = clock.now();
    // Uses each answer of the provider only once, even if two requests with the same answer arrive at the same time.
    const isFirst =
      flow && (await useOnce(database, { kind: 'provider', id: flow.state, expiresAt: new Date(flow.end) }, now));
    const provider = flow && isFirst ? await findProvider(database, flow.key) : undefined;
    if (!flow || !provider || provider.account_id !== accountId) throw refuseExpired(visit, flow);
    const charged = await throttle.chargeProvider(request, reply).catch(error => {
      throw error instanceof FormProblem ? refusal(error.status, `${error.message}.`, flow.next) : error;
    });
    const url = new URL(callbackUrl(config, accountId));
    url.search = new URL(request.url, url).search;
    const person = await openid
      .finish(accessOf(provider), url, flow)
      .catch(error => fail(visit, provider, flow, error));
    const terms = sessionTerms(request, config, now);
    const asserted = { ...person, accountId, providerId: provider.id, isAdmitted: provider.admits_everybody };
    const outcome = await database.transaction(async transaction => {
      const adminAs = (actor: Administration['by']) => administrationIn(transaction, { audit, actor, now });
      const mayMail = throttle.unconfirmedAddresses(request, accountId);
      const signedIn = await signInWithIdentity(adminAs, asserted, terms, mayMail);
      if ('token' in signedIn) {
        const { userId } = signedIn;
        await keepLanguageOfBrowser(adminAs({ by: 'user', by_user_id: userId }), request, userId);
      }
      return signedIn;
    });
    const entry = { ...originOf(visit), ...placeOf(provider) };
    if ('refused' in outcome) {
      const user = outcome.userId === undefined ? {} : { user_id: outcome.userId };
      audit.record('sign_in.failed', { ...entry, reason: outcome.refused, ...user });
      const values = { name: shownName(provider.name), account: shownName(provider.account_name) };
      throw refusal(403, t(refusals[outcome.refused], values), flow.next);
    }
    await charged.giveBack();
    if ('mustConfirm' in outcome) {
      const { userId, email } = outcome.mustConfirm;
      audit.record('sign_in.failed', { ...entry, reason: 'must_confirm', user_id: userId });
      const expiresAt = new Date(now.getTime() + signInLinkMinutes * 60_000);
      const token = tokens.make({ ...asserted, userId, canonicalEmail: canonicalAddress(email) }, expiresAt);
      if (ordinaryUserOf(request)?.id === userId) return connectPath(token, flow.next);
      return showQuestion(visit, { token, email, next: flow.next });
    }
    if ('challenge' in outcome) {
      audit.record('sign_in.code_requested', { ...originOf(visit), user_id: outcome.userId });
      return askForCode(reply, config, outcome.challenge, flow.next);
    }
    audit.record('sign_in.succeeded', { ...entry, user_id: outcome.userId, method: 'provider' });
    setSessionCookie(reply, config, outcome.token, terms.expiresAt);
    return flow.next;
  }

  /**
   * Tells the person that an existing user has the e-mail address, and how this user confirms the connection to the
   * provider.
   */
  function showQuestion(
    visit: Visit<undefined>,
    { token, email, next, ...rest }: { token: string; email: string; next: string; isMailRequested?: boolean },
    problem?: Problem,
  ) {
    const data = {
      token,
      next,
      email: shownAddress(email),
      isMailed: config.SMTP_URL !== undefined,
      isMailRequested: rest.isMailRequested ?? false,
      minutes: signInLinkMinutes,
      signInPath: signInPath(connectPath(token, next)),
    };
    return visit.page('provider-confirm', t('identities.confirm.title'), data, { problem });
  }

  async function showConfirmation(visit: Visit<undefined>, problem: Problem) {
    return showQuestion(visit, await requireQuestion(visit), problem);
  }

  async function mailLink(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const question = await requireQuestion(visit);
    const { token, email, next, userId } = question;
    await throttle.chargeSignInLink(request, reply, email);
    await requestSignInLink(database, { email, next: connectPath(token, next), board: undefined });
    audit.record('sign_in.link_requested', { ...originOf(visit), user_id: userId });
    return showQuestion(visit, { ...question, isMailRequested: true });
  }

  /** Refuses the token if the user has another address now, because the page would show this address to a stranger. */
  async function requireQuestion(visit: Visit<undefined>) {
    const [token, next] = [visit.field('token'), safeNextPath(visit.field('next'))];
    const connection = tokens.read(token, clock.now());
    const recipient = connection && (await readMailRecipient(database, connection.userId));
    const isSame = recipient && canonicalAddress(recipient.email) === connection?.canonicalEmail;
    if (!connection || !isSame) throw refuseExpired(visit, undefined);
    return { token, next, email: recipient.email, userId: connection.userId };
  }

  async function requireProvider(visit: Visit<undefined>): Promise<SignInProvider> {
    const provider = await findProvider(database, visit.word('key'));
    if (!provider) throw new DomainError('not_found');
    return provider;
  }

  function accessOf({ account_id, issuer, client_id: clientId, client_secret }: SignInProvider): ProviderAccess {
    return { issuer, clientId, clientSecret: secretBox.open(client_secret, providerSecretPurpose(account_id)) };
  }

  /** Shows an error page about a failed request to the provider. The details are only in the log. */
  function fail(visit: Visit<undefined>, provider: SignInProvider, flow: ProviderFlow, error: unknown): never {
    if (!(error instanceof ProviderError)) throw error;
    const { reason, message: detail } = error;
    logger.warn({ ...placeOf(provider), reason, detail }, 'A sign-in with a provider failed');
    audit.record('sign_in.failed', { ...originOf(visit), ...placeOf(provider), reason: 'provider' });
    const { status, text } = failures[reason];
    throw refusal(status, t(text, { name: shownName(provider.name) }), flow.next);
  }

  function refuseExpired(visit: Visit<undefined>, flow: ProviderFlow | undefined) {
    audit.record('sign_in.failed', { ...originOf(visit), reason: 'provider' });
    return refusal(400, t('identities.failures.expired'), flow?.next);
  }
}

function refusal(status: number, explanation: string, next = '/admin') {
  const back = { label: t('identities.failures.back'), href: signInPath(next) };
  return new Refusal(status, t('identities.failures.title'), explanation, back);
}

function originOf({ request: { id, ip } }: Visit<undefined>) {
  return { request_id: id, ip };
}

function placeOf({ account_id, id }: SignInProvider) {
  return { account_id, provider_id: id };
}
