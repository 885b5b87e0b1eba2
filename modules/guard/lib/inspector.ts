import { compileSchema, hasPatterns, type LLM, type ModuleContext, parseJson, type Run, type Verdict } from 'agent-host'
import { askJudge } from './ask-judge.ts'
import { DETECTORS, type Detector, toDetector } from './detectors.ts'
import type { Rules } from './rules.ts'
import { withinLimit } from './within-limit.ts'

interface Finding {
  /** Broken rule. */
  readonly reason: string
  /** The text without the parts that broke the rule. */
  readonly redacted: string
}

interface NamedDetector {
  readonly reason: string
  readonly find: Detector
}

/** Rules of one guard, ready to inspect texts. */
export class Inspector {
  readonly #rules: Rules
  readonly #detectors: readonly NamedDetector[]
  readonly #fits: ((value: unknown) => boolean) | undefined
  readonly #llm: LLM | undefined

  /** @throws Error naming the rule that cannot hold */
  constructor(rules: Rules, llm: LLM | undefined, { environment }: ModuleContext) {
    const { detect, patterns, schema, judge } = rules
    if (detect.length === 0 && patterns.length === 0 && !schema && judge === undefined) {
      throw new Error('The guard has no rule. Set detect, patterns, schema or judge.')
    }
    if (judge !== undefined && !llm) throw new Error('judge needs a module that provides LLM.')
    this.#rules = rules
    this.#llm = llm
    this.#fits = schema && makeCheck(schema)
    this.#detectors = [
      ...detect.map((kind) => ({ reason: `found ${kind}`, find: DETECTORS[kind](environment) })),
      ...patterns.map((pattern) => ({ reason: `matches ${pattern}`, find: toDetector(pattern) })),
    ]
  }

  /** Inspects a text by the rules that need no model. */
  check(text: string): Verdict {
    return this.#toVerdict(this.#detect(text) ?? this.#misfit(text))
  }

  /** Inspects a text by all rules. The judge also reads the earlier messages of the user, oldest first. */
  async judge(text: string, earlier: readonly string[], run: Run): Promise<Verdict> {
    const finding = this.#detect(text) ?? this.#misfit(text)
    const { judge: rule, action, replacement } = this.#rules
    // The redacted text may still break the judge's rule.
    const rest = action === 'redact' ? (finding?.redacted ?? text) : text
    const isDecided = finding !== undefined && action !== 'redact'
    if (isDecided || rule === undefined || !this.#llm || !(await askJudge(this.#llm, rule, rest, earlier, run))) {
      return this.#toVerdict(finding)
    }
    return this.#toVerdict({ reason: `judged: ${rule}`, redacted: replacement })
  }

  #detect(text: string): Finding | undefined {
    const { replacement } = this.#rules
    let redacted = text
    const reasons: string[] = []
    for (const { reason, find } of this.#detectors) {
      const left = find(redacted, replacement)
      if (left !== redacted) reasons.push(reason)
      redacted = left
    }
    return reasons.length === 0 ? undefined : { reason: reasons.join(', '), redacted }
  }

  /** A text that does not fit has no part to cut out: all of it is replaced. */
  #misfit(text: string): Finding | undefined {
    const { replacement } = this.#rules
    if (!this.#fits || this.#fits(parseJson(text))) return undefined
    return { reason: 'does not fit the schema', redacted: replacement }
  }

  #toVerdict(finding: Finding | undefined): Verdict {
    const { action, reply } = this.#rules
    if (!finding) return { action: 'pass' }
    const { reason, redacted } = finding
    return action === 'redact' ? { action, text: redacted, reason } : { action, reply, reason }
  }
}

/** A value that a pattern of the schema takes too long for does not fit. */
function makeCheck(schema: NonNullable<Rules['schema']>): (value: unknown) => boolean {
  const { matches } = compileSchema(schema)
  return hasPatterns(schema) ? (value) => withinLimit(() => matches(value), false) : matches
}
