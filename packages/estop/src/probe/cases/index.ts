/** The cases by their names. */

import { afterCommit } from './after-commit.ts';
import { afterSettle } from './after-settle.ts';
import { baseline } from './baseline.ts';
import { beforeWork } from './before-work.ts';
import type { Case } from './case.ts';
import { duringWork } from './during-work.ts';
import { held } from './held.ts';
import type { CaseName } from './table.ts';

export const CASE_BY_NAME: Readonly<Record<CaseName, Case>> = {
  baseline,
  held,
  before_work: beforeWork,
  during_work: duringWork,
  after_commit: afterCommit,
  after_settle: afterSettle,
};
