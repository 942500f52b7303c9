import { type Capability, capabilities, type Grant, grants } from '../../../contract/grants.ts';
import { maxNetworksOfToken } from '../../../contract/limits.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import type { TokenListing } from '../../domain/tokens/list-tokens.ts';
import { checkRestrictions } from '../../domain/tokens/restrictions.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { fieldOf } from '../../pages/shell/form.ts';
import { shownName } from '../../pages/shell/show.ts';
import { t } from '../../text/catalogue.ts';

/**
 * The values of the token form. `expiresOn` is a day such as 2026-03-14, or an empty text. `grantOn` returns the chosen
 * grant for a board, or an empty text.
 */
type GivenToken = ReturnType<typeof readTokenForm>;

export const emptyTokenForm = readTokenForm({});

export function readTokenForm(body: unknown) {
  return {
    name: fieldOf(body, 'name'),
    expiresOn: fieldOf(body, 'expires_on'),
    capabilities: capabilities.filter(one => fieldOf(body, fieldOfCapability(one)) !== ''),
    restrictions: readRestrictions(body),
    grantOn: (boardId: number) => fieldOf(body, fieldOfBoard(boardId)),
  };
}

export function formOf({ name, expiresOn, capabilities: chosen, grantOn }: GivenToken, boards: NamedBoard[]) {
  const labels = grants.map(grant => [grant, t(`tokens.grants.${grant}`)] as const);
  return {
    name,
    expiresOn,
    capabilities: capabilities.map(one => ({
      field: fieldOfCapability(one),
      label: t(`tokens.capabilities.${one}`),
      isChosen: chosen.includes(one),
    })),
    boards: boards.map(board => ({
      field: fieldOfBoard(board.id),
      name: shownName(board.name),
      grants: optionsOf([['', t('tokens.grants.none')], ...labels], grantOn(board.id)),
    })),
  };
}

export function grantsOf({ grantOn }: GivenToken, boards: NamedBoard[]): { boardId: number; grant: Grant }[] {
  return boards.flatMap(({ id, name }) => {
    const chosen = grantOn(id);
    if (chosen === '') return [];
    const grant = grants.find(one => one === chosen);
    if (!grant) throw new AdministrationError('invalid', t('tokens.form.choose_grant', { board: name }));
    return [{ boardId: id, grant }];
  });
}

const dayMs = 86_400_000;

/**
 * Returns the last day, in UTC, on which a token is valid, such as 2026-03-14. Returns an empty text if the token does
 * not expire.
 */
export function lastDayOf(expiresAt: string | null): string {
  return expiresAt === null ? '' : new Date(Date.parse(expiresAt) - 1).toISOString().slice(0, 10);
}

/**
 * Returns the expiry of a token: the end of the entered day in UTC. An empty text means that the token does not expire.
 */
export function expiryOf(expiresOn: string): Date | null {
  if (expiresOn === '') return null;
  const day = /^\d{4}-\d{2}-\d{2}$/.test(expiresOn) ? Date.parse(`${expiresOn}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(day)) throw new AdministrationError('invalid', t('tokens.form.invalid_day'));
  return new Date(day + dayMs);
}

function fieldOfCapability(capability: Capability): string {
  return `capability_${capability}`;
}

type ServerLimits = Parameters<typeof checkRestrictions>[1];

/** The entered restrictions of a token. `networks` contains one allowed network on each line. */
type GivenRestrictions = ReturnType<typeof readRestrictions>;

export function readRestrictions(body: unknown) {
  return {
    readLimit: fieldOf(body, 'read_limit'),
    writeLimit: fieldOf(body, 'write_limit'),
    networks: fieldOf(body, 'allowed_networks'),
  };
}

export function storedRestrictions(token: TokenListing): GivenRestrictions {
  return {
    readLimit: String(token.read_limit ?? ''),
    writeLimit: String(token.write_limit ?? ''),
    networks: token.allowed_networks.join('\n'),
  };
}

export function restrictionFields(given: GivenRestrictions, limits: ServerLimits) {
  return {
    ...given,
    isOpen: Object.values(given).some(text => text.trim() !== ''),
    maxReads: limits.RATE_LIMIT_READ,
    maxWrites: limits.RATE_LIMIT_WRITE,
    maxNetworks: maxNetworksOfToken,
  };
}

export function restrictionsOf({ readLimit, writeLimit, networks }: GivenRestrictions, limits: ServerLimits) {
  const given = {
    readLimit: limitOf(readLimit),
    writeLimit: limitOf(writeLimit),
    allowedNetworks: networks.split(/[\s,]+/).filter(network => network !== ''),
  };
  return checkRestrictions(given, limits);
}

function limitOf(text: string): number | null {
  if (text.trim() === '') return null;
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

function fieldOfBoard(boardId: number): string {
  return `level_${boardId}`;
}
