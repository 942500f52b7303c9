import { createBoard, maxDescriptionLength, updateBoard } from '../../domain/boards/edit-board.ts';
import { BoardChangedError, requireBoardAsSeen } from '../../domain/boards/find-board.ts';
import { type BoardListing, listBoardOverviews } from '../../domain/boards/list-boards.ts';
import type { Board } from '../../entities/board.ts';
import { type BoardLanguage, boardLanguages, languageCodes } from '../../entities/board-language.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { showCount, shownName } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { forEachLanguage } from '../../text/language.ts';
import { shortLine } from '../../text/plain-text.ts';
import { boardPage, flagsOf, linksElsewhere, onBoard, pathOnBoard } from './board-page.ts';
import { deadlineRoute } from './deadline-routes.ts';
import { statusRoutes } from './status-routes.ts';
import { tagRoutes } from './tag-routes.ts';

const perPage = 25;

const notices = textKeysIn('board_settings.notices');

export const boardRoutes: Route[] = [
  { path: '/admin/boards', show: showList },
  { path: '/admin/boards/new', show: showNew, run: addBoard },
  // The path /admin/boards/new is the form for a new board. The settings of a board with the slug `new` are therefore
  // only at /admin/boards/new/settings.
  { path: '/admin/boards/:slug', show: showSettings },
  { path: '/admin/boards/:slug/settings', show: showSettings, run: saveSettings },
  freezeRoute('freeze'),
  freezeRoute('unfreeze'),
  deadlineRoute,
  ...statusRoutes,
  ...tagRoutes,
];

/**
 * A form that freezes or unfreezes a board. The form asks for confirmation, because the change affects all users and
 * API clients of the board.
 */
function freezeRoute(change: 'freeze' | 'unfreeze'): Route {
  const isFrozen = change === 'freeze';
  return {
    path: `/admin/boards/:slug/${change}`,
    ask: async visit => ({
      heading: t(`board_settings.${change}.heading_html`, {
        name: shownName(await onBoard(visit, (_admin, board) => board.name)),
      }),
      explanation: t(`board_settings.${change}.explanation`),
      button: t(`board_settings.${change}.button`),
      isHarmless: !isFrozen,
      back: { label: t(`board_settings.${change}.keep`), href: pathOnBoard(visit, 'settings') },
    }),
    run: async visit => {
      await onBoard(visit, (admin, board) => updateBoard(admin, board, { isFrozen }));
      return pathOnBoard(visit, 'settings', { notice: isFrozen ? 'frozen' : 'unfrozen' });
    },
  };
}

async function addBoard(visit: Visit) {
  const board = { ...readForm(visit), accountId: visit.account.id };
  const { slug } = await visit.administer(admin => createBoard(admin, board));
  return pathOnBoard(visit, 'settings', { slug, notice: 'created' });
}

async function saveSettings(visit: Visit) {
  const form = readForm(visit);
  await visit.administer(async admin => {
    const seenAt = visit.field('seen_at');
    await updateBoard(admin, await requireBoardAsSeen(admin, visit.account.id, visit.word('slug'), seenAt), form);
  });
  return pathOnBoard(visit, 'settings', { slug: form.slug, notice: 'saved' });
}

async function showList(visit: Visit) {
  const present = (board: BoardListing) => presentOverview(visit, board);
  const boards = await visit.administer(admin =>
    visit.numberedPage('/admin/boards', { perPage, present }, place =>
      listBoardOverviews(admin, visit.account.id, place),
    ),
  );
  return visit.page('boards/list', t('shell.labels.boards'), { boards });
}

function presentOverview(visit: Visit, board: BoardListing) {
  const { slug, is_public: isPublic, pending_count: count } = board;
  const timeOf = (text: string | null) => (text === null ? null : new Date(text));
  const flags = flagsOf(
    {
      isPublic,
      isFrozen: board.is_frozen,
      preModeration: board.pre_moderation,
      submissionsOpenAt: timeOf(board.submissions_open_at),
      submissionsCloseAt: timeOf(board.submissions_close_at),
      votingOpenAt: timeOf(board.voting_open_at),
      votingCloseAt: timeOf(board.voting_close_at),
    },
    visit.server.clock.now(),
  );
  return {
    name: shownName(board.name),
    slug,
    href: pathOnBoard(visit, 'settings', { slug }),
    flags,
    pending: count > 0 ? showCount('board_settings.pending', count) : undefined,
    links: linksElsewhere(visit, { slug, isPublic }),
  };
}

function showNew(visit: Visit, problem?: Problem) {
  const form = problem
    ? readForm(visit)
    : { name: '', slug: '', description: '', preModeration: false, isPublic: false, language: 'simple' };
  const data = {
    form,
    languages: languageOptions(form.language),
    maxDescriptionLength,
  };
  return visit.page('boards/new', t('board_settings.new.title'), data, { problem });
}

function showSettings(visit: Visit, problem?: Problem) {
  return boardPage(visit, { tab: 'settings', notices, problem }, (_admin, board) => {
    const { slug, isFrozen, isPublic } = board;
    const form = problem ? readForm(visit) : board;
    const isStale = problem?.cause instanceof BoardChangedError;
    return {
      form,
      languages: languageOptions(form.language),
      maxDescriptionLength,
      // After a BoardChangedError, the page shows the change that another person made. The user has now seen this
      // change, so the next save of the user may overwrite it.
      seenAt: problem && !isStale ? visit.field('seen_at') : board.updatedAt.toISOString(),
      isFrozen,
      publicUrl: isPublic ? `${visit.server.config.BASE_URL}/b/${slug}` : undefined,
      isStale,
      differences: isStale ? differences(form, board) : [],
    };
  });
}

type BoardForm = ReturnType<typeof readForm>;

function readForm(visit: Visit) {
  return {
    name: visit.field('name'),
    slug: visit.field('slug').trim(),
    description: visit.field('description'),
    preModeration: visit.field('pre_moderation') !== '',
    isPublic: visit.field('is_public') !== '',
    language: visit.field('language') || 'simple',
  };
}

function differences(given: BoardForm, board: Board) {
  const yesOrNo = (value: boolean) => t(value ? 'board_settings.settings.yes' : 'board_settings.settings.no');
  const shown = [
    { field: 'name', label: t('shell.labels.name'), value: shortLine(board.name, 100) },
    {
      field: 'description',
      label: t('shell.labels.description'),
      value: shortLine(board.description, 200, t('board_settings.settings.no_description')),
    },
    {
      field: 'preModeration',
      label: t('board_settings.settings.awaits_approval'),
      value: yesOrNo(board.preModeration),
    },
    { field: 'isPublic', label: t('board_settings.flags.public'), value: yesOrNo(board.isPublic) },
    { field: 'language', label: t('board_settings.fields.language'), value: languageName(board.language) },
  ] as const;
  return shown.filter(({ field }) => given[field] !== board[field]);
}

const nameFormat = forEachLanguage(locale => new Intl.DisplayNames([locale], { type: 'language' }));

function languageName(language: BoardLanguage): string {
  const code = languageCodes[language];
  return (code && nameFormat().of(code)) ?? t('board_settings.fields.any_language');
}

function languageOptions(chosen: string) {
  return optionsOf(
    boardLanguages.map(language => [language, languageName(language)]),
    chosen,
  );
}
