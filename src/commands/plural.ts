const rules = new Intl.PluralRules('en')

/** `1 call`, `2 calls`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${rules.select(count) === 'one' ? '' : 's'}`
}
