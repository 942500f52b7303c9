import { type AuditLine, readAuditTail } from '../../observability/read-audit-tail.ts';
import { showTime } from '../../pages/shell/show.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import type { OperatorRoute, OperatorVisit } from '../shell/change.ts';

/** The maximum number of entries. With more entries, the page would be larger than 50 kB. */
const mostEntries = 50;

export const auditRoute: OperatorRoute = { path: '/operator/audit', show: showAudit };

async function showAudit(visit: OperatorVisit) {
  const { AUDIT_LOG: output } = visit.server.config;
  // By default, leaves out the entries that record an opened page of the operator's panel, because they could fill the
  // whole list.
  const isAll = visit.parameter('entries') === 'all';
  const data = {
    output,
    mostEntries,
    filters: [
      { label: t('operator.audit.without_views'), href: '/operator/audit', isCurrent: !isAll },
      { label: t('shell.labels.all'), href: '/operator/audit?entries=all', isCurrent: isAll },
    ],
    ...(await readEntries(visit, isAll)),
  };
  return visit.page('audit/audit', t('operator.audit.title'), data);
}

async function readEntries({ server: { config, logger } }: OperatorVisit, isAll: boolean) {
  try {
    const lines = await readAuditTail(config, mostEntries, ({ event }) => isAll || event !== 'operator.viewed');
    return { entries: lines?.map(present), isUnreadable: false };
  } catch (err) {
    // The file may be missing after a log rotation. The server may also have permission to append to the file but not
    // to read it.
    logger.warn({ err }, 'the audit log cannot be read for the operator');
    return { entries: undefined, isUnreadable: true };
  }
}

function present({ log: _, time, event, ...fields }: AuditLine) {
  return {
    time: showTime(new Date(time)),
    event,
    fields: Object.entries(fields).map(([name, value]) => ({
      name,
      text: shortLine(typeof value === 'string' ? value : JSON.stringify(value), 200, ''),
    })),
  };
}
