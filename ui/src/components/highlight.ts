import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import { escapeHtml } from './escape-html.ts'

for (const [name, language] of Object.entries({ bash, json, python, typescript, yaml })) {
  hljs.registerLanguage(name, language)
}
// A grammar of its own would say the same at twice the size.
hljs.registerAliases(['javascript', 'js', 'jsx'], { languageName: 'typescript' })

const MAX_HIGHLIGHTED = 20_000

/** Highlights code, as HTML; plain where the language is not known. */
export function highlight(code: string, language: string): string {
  if (!hljs.getLanguage(language) || code.length > MAX_HIGHLIGHTED) return escapeHtml(code)
  const { value } = hljs.highlight(code, { language, ignoreIllegals: true })
  return language === 'yaml' ? value.replace(PART_OF_NAME, '$1$2') : value
}

/** A word such as `no` that is part of a longer name, `no-cards`: the grammar takes it for a value. */
const PART_OF_NAME =
  /(?<=[\w-])<span class="hljs-literal">(\w+)<\/span>|<span class="hljs-literal">(\w+)<\/span>(?=-\w)/g
