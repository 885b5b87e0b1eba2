import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineConfig } from 'vitepress'
import { linkConcepts } from './link-concepts.ts'
import { llmsFullText, llmsText } from './llms-text.ts'
import { sidebar } from './sidebar.ts'

export default defineConfig({
  title: 'agent-host',
  description: 'Drop in a YAML file, serve an agent.',
  cleanUrls: true,
  lastUpdated: true,
  markdown: {
    // Pages are plain Markdown: `<name>` is a placeholder, never a tag.
    html: false,
    config: (markdown) => {
      markdown.core.ruler.push('concepts', ({ tokens, env, Token }) => {
        if (env.relativePath !== 'concepts.md') linkConcepts(tokens, (...parts) => new Token(...parts))
      })
      const renderImage = markdown.renderer.rules.image
      // A picture of the light theme has a twin of the dark one.
      markdown.renderer.rules.image = (...args) => {
        const light = renderImage?.(...args) ?? ''
        if (!light.includes('-light.')) return light
        const dark = light.replace('-light.', '-dark.').replace('<img', '<img class="only-dark"')
        return light.replace('<img', '<img class="only-light"') + dark
      }
    },
  },
  // Links to files of the repository leave the site.
  ignoreDeadLinks: [/^(\.\/)?\.\.\//],
  srcExclude: ['README.md'],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/getting-started' },
      { text: 'Guides', link: '/tools' },
      { text: 'Reference', link: '/cli' },
    ],
    sidebar: sidebar as never,
  },
  /** Beside the site: `llms.txt`, `llms-full.txt`, and each page as Markdown. */
  buildEnd({ outDir, pages, srcDir }) {
    writeFileSync(join(outDir, 'llms.txt'), llmsText())
    writeFileSync(join(outDir, 'llms-full.txt'), llmsFullText())
    for (const page of pages) {
      mkdirSync(dirname(join(outDir, page)), { recursive: true })
      copyFileSync(join(srcDir, page), join(outDir, page))
    }
  },
})
