"""What a page must not do while a test drives it: reach elsewhere, or report an error."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page

LOCAL_SCHEMES = {"data", "blob", "about", "chrome-error"}
LOCAL_HOSTS = {"127.0.0.1", "localhost"}


def is_local(url: str) -> bool:
    """Whether the address is on this machine or in the page itself."""
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in LOCAL_HOSTS


@dataclass
class PageWatch:
    """Collects, over all pages of one test, what should have stayed empty.

    A test that expects an error clears the list after looking at it.
    """

    outside_requests: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)

    def attach(self, context: BrowserContext) -> None:
        """Listen to every page that the context opens."""
        context.on("request", lambda request: self.note_address(request.url))
        context.on("console", self.note_message)
        context.on("weberror", lambda error: self.note_error(error.error))
        context.on("page", self.follow_sockets)

    def follow_sockets(self, page: Page) -> None:
        """Listen to the page's web sockets, which are no requests to Playwright."""
        page.on("websocket", lambda web_socket: self.note_address(web_socket.url))

    def note_address(self, url: str) -> None:
        """Keep the address if it is elsewhere."""
        if not is_local(url):
            self.outside_requests.append(url)

    def note_message(self, message: ConsoleMessage) -> None:
        """Keep the console message if it is an error."""
        if message.type == "error":
            self.console_errors.append(f"{message.text} ({message.location.get('url')})")

    def note_error(self, error: Error) -> None:
        """Keep an exception that no script caught."""
        self.console_errors.append(str(error))

    def complaints(self) -> list[str]:
        """One line for each thing that should not have happened."""
        return [
            *(f"the page asked for {url}" for url in self.outside_requests),
            *(f"the console says: {text}" for text in self.console_errors),
        ]
