import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DetailsOf } from '../../contract/errors.ts';
import { type Grant, grantsOfQuery, includesGrant } from '../../contract/grants.ts';
import type { RouteMetadata } from '../../contract/routes.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { moderatingRoles } from '../entities/membership.ts';
import { auditRefusedGrant } from './audit-refusals.ts';
import { authenticate, authenticateAgain, chargeAddress } from './authenticate.ts';
import type { GrantedBoard, Principal } from './find-tokens.ts';
import { idempotencyPathOf } from './look-up-token.ts';
import { type Admission, routeMetadata } from './request-context.ts';

/**
 * The hook that admits a request before its body is read. First, it checks the rate limit of the IP address (429) and
 * the token (401). Then it checks the token's network (403) and the token's rate limit (429). Finally, it checks the
 * plan of the account (403), the board (400, 403, 422), the grant and the capability (403) and the issuer (403). The
 * numbers are the HTTP statuses of failed checks.
 */
export function admitRequests(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const metadata = routeMetadata(request);
    if (metadata?.auth === 'none' && !metadata.isLimitedPerIp) return;
    // The MCP endpoint admits its requests itself after it has read the body, because the body names the tool.
    if (metadata?.auth === 'tools') return;
    if (!metadata) return chargeAddress(server, request, reply);
    // While the database is slow or unavailable, admits the readiness probe without counting it against the rate limit.
    // The probe itself must report the state of the database, and concurrent probes share one check.
    if (metadata.auth === 'none') return chargeAddress(server, request, reply, { mayPassUncharged: true });

    const key = request.headers['idempotency-key'];
    const route = request.routeOptions.config.tsRestRoute;
    const principal = await authenticate(server, request, reply, {
      bucket: metadata.auth === 'board' ? metadata.bucket : undefined,
      idempotency:
        route?.method === 'POST' && typeof key === 'string'
          ? { path: idempotencyPathOf(route, request.params), key }
          : undefined,
      acceptsOauth: false,
    });
    authorize(server, request, principal, metadata, request.query as Record<string, unknown>);
  };
}

/**
 * Checks the allowed networks, the account's plan, and the board, grant and issuer of a token. Call this function
 * before the validation of the request. Throws errors with the HTTP status 400, 403 or 422.
 */
export function authorize(
  server: ServerDependencies,
  request: FastifyRequest,
  principal: Principal,
  metadata: RouteMetadata,
  query: Record<string, unknown>,
) {
  try {
    request.admission = admissionFor(server, request, principal, metadata, query);
  } catch (error) {
    auditRefusedGrant(server.audit, request, principal, error);
    throw error;
  }
}

function admissionFor(
  server: ServerDependencies,
  request: FastifyRequest,
  principal: Principal,
  metadata: RouteMetadata,
  query: Record<string, unknown>,
): Admission {
  const { config } = server;
  const renew = async () => {
    const found = await authenticateAgain(server, request);
    return admissionFor(server, request, principal.isReadOnly ? withoutWriting(found) : found, metadata, query);
  };
  // This error reveals that the token is valid. It does so only to a client that has the right secret.
  if (!principal.isNetworkAllowed) throw new DomainError('network_not_allowed');
  if (config.PLANS_WITHOUT_AGENT_API.includes(principal.account.plan)) {
    throw new DomainError('agent_api_unavailable');
  }
  if (metadata.auth !== 'board') return { principal, actor: null, renew };

  const board = resolveBoard(principal, query.board);
  const needed = neededGrant(metadata, query);
  if (!includesGrant(board.grant, needed)) {
    throw new DomainError('insufficient_scope', { details: { board: board.slug, needed, held: board.grant } });
  }
  const { capability } = metadata;
  if (capability && !principal.capabilities.includes(capability)) {
    throw new DomainError('missing_capability', { details: { needed: capability } });
  }
  const isModerator = isModerateEffective(principal, board);
  if (needed === 'moderate' && !isModerator) throw new DomainError('token_issuer_not_moderator');
  if (metadata.bucket === 'apitoken:write' && principal.issuer.isBlocked) throw new DomainError('user_blocked');

  const { account, issuer, tokenId, voterId } = principal;
  return {
    principal,
    renew,
    actor: {
      accountId: account.id,
      boardId: board.id,
      userId: issuer.id,
      tokenId,
      voterId,
      isModerator,
      hasLostModeration: board.grant === 'moderate' && !isModerator,
    },
  };
}

/**
 * Finds the board of a request (specification: Authentication, 6). A token with only one board may omit the board
 * parameter.
 */
function resolveBoard(principal: Principal, slug: unknown): GrantedBoard {
  if (slug !== undefined && typeof slug !== 'string') {
    // Only an MCP tool call can have a board that is neither a string nor an array.
    const message = Array.isArray(slug) ? 'Give board once' : 'Must be the slug of a board';
    const issues = [{ path: ['query', 'board'], code: 'invalid_type', message }];
    throw new DomainError('validation_failed', { issues });
  }
  const { boards } = principal;
  if (slug === undefined && boards.length > 1) {
    throw new DomainError('board_required', { details: grantedBoards(principal) });
  }
  const board = slug === undefined ? boards[0] : boards.find(granted => granted.slug === slug);
  if (!board) throw new DomainError('board_not_granted', { details: grantedBoards(principal) });
  return board;
}

/** The maximum number of boards that an error lists. */
const maxListedBoards = 100;

function grantedBoards({ boards }: Principal): DetailsOf<'board_required'> {
  return { boards: boards.slice(0, maxListedBoards).map(({ slug, name, grant }) => ({ slug, name, grant })) };
}

function neededGrant(metadata: RouteMetadata & { auth: 'board' }, query: Record<string, unknown>): Grant {
  return grantsOfQuery(metadata.grantByQuery, query).reduce(
    (needed, grant) => (includesGrant(grant, needed) ? grant : needed),
    metadata.grant,
  );
}

/**
 * For a read-only connection, returns the principal without capabilities and with only the grant `read` on each board.
 */
export function withoutWriting(principal: Principal): Principal {
  const boards = principal.boards.map(board => ({ ...board, grant: 'read' as const }));
  return { ...principal, isReadOnly: true, boards, capabilities: [] };
}

/**
 * Returns the grant on a board that the token can use now. If the issuer of the token is blocked, the grant is `read`.
 * The token can use the grant `moderate` only if the issuer may moderate.
 */
export function usableGrant(principal: Principal, board: GrantedBoard): Grant {
  if (principal.issuer.isBlocked) return 'read';
  return board.grant === 'moderate' && !isModerateEffective(principal, board) ? 'write' : board.grant;
}

/**
 * The moderate grant has effect only while the token's issuer has a role that may moderate (specification:
 * Authentication, 3).
 */
export function isModerateEffective(principal: Principal, board: GrantedBoard): boolean {
  return board.grant === 'moderate' && moderatingRoles.some(role => role === principal.issuer.role);
}
