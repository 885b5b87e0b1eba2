// Shows the OpenAPI document of this server, in the theme of the system.
const COLORS = {
  light: {
    'bg-color': '#ffffff',
    'header-bg-color': '#f4f5f7',
    'text-color': '#1d2129',
    'header-color': '#1d2129',
    'nav-bg-color': '#f4f5f7',
    'nav-text-color': '#1d2129',
    'nav-hover-bg-color': '#e6e8ec',
    'nav-hover-text-color': '#1d2129',
    'primary-color': '#2f5fd0',
    'secondary-color': '#2f5fd0',
  },
  dark: {
    'bg-color': '#16181d',
    'header-bg-color': '#1e2127',
    'text-color': '#e6e8ec',
    'header-color': '#e6e8ec',
    'nav-bg-color': '#1e2127',
    'nav-text-color': '#e6e8ec',
    'nav-hover-bg-color': '#2b2f38',
    'nav-hover-text-color': '#ffffff',
    'primary-color': '#8ab0ff',
    'secondary-color': '#8ab0ff',
  },
}

const darkTheme = matchMedia('(prefers-color-scheme: dark)')
const explorer = document.createElement('openapi-explorer')
explorer.setAttribute('spec-url', '/openapi.json')
explorer.setAttribute('hide-server-selection', 'true')

function paint() {
  for (const [name, color] of Object.entries(COLORS[darkTheme.matches ? 'dark' : 'light']))
    explorer.setAttribute(name, color)
}

paint()
darkTheme.addEventListener('change', paint)
const back = document.createElement('a')
back.href = '/'
back.textContent = '← Back to the page'
back.className = 'back'
document.body.append(back, explorer)
