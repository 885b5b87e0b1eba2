import { nowSeconds } from '../../now-seconds.ts'
import type { RunFacts } from '../runs/run-facts.ts'
import type { Before } from './before.ts'
import { carriedOn, type Given, type NextRun, next, type SightRules } from './next.ts'

/** Stored runs of a tenant. */
export interface AnswerSource {
  readonly tenant: string
  rulesFor(agent: string): SightRules
}

/** Past of a run that is stored. */
export interface StoredBefore extends Before {
  readonly facts: RunFacts
}

/** Answers to calls that a run waits for, and who gives them. */
export interface GivenAnswers extends Required<Pick<Given, 'id' | 'answers' | 'by'>>, Pick<Given, 'isOnce'> {
  /** Left out for a run that its sender carries out. */
  readonly background?: true
}

/**
 * Makes the run that goes on with answers, without a request of its client.
 *
 * @throws HostError `AGENT_NOT_FOUND`; as {@link next}
 */
export function nextAfterAnswers(
  source: AnswerSource,
  before: StoredBefore,
  { background, ...given }: GivenAnswers,
): NextRun {
  const { facts, named } = before
  const { options, ...carried } = carriedOn(facts)
  const begun = { createdAt: nowSeconds(), tenant: source.tenant, messages: [], named, isUnasked: true }
  const all = { ...carried, ...begun, ...given, options: { ...options, background } }
  return next(before, all, source.rulesFor(facts.agent))
}
