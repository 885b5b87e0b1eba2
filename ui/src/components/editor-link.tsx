interface EditorLinkProps {
  /** Absolute; null where the page may not know it. */
  readonly projectDir: string | null
  /** Relative to the project; null where there is none. */
  readonly file: string | null
}

/** Link that opens a file of the project in the editor of the developer. */
export function EditorLink({ projectDir, file }: EditorLinkProps) {
  if (!file || !projectDir) return null
  return (
    <a class="button" href={`vscode://file${slashed(projectDir)}/${file}`}>
      Open in editor
    </a>
  )
}

/** `C:\project` as `/C:/project`. */
function slashed(path: string): string {
  const plain = path.replaceAll('\\', '/')
  return plain.startsWith('/') ? plain : `/${plain}`
}
