import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** A backend of the JDK's HttpServer over HTTP/1.1: the paths of backends.interop.ts. */
public class Backend {
  static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
    boolean hasBody = body.length > 0 && !exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(status, hasBody ? body.length : -1);
    if (hasBody) exchange.getResponseBody().write(body);
    exchange.close();
  }

  static void serve(HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    switch (exchange.getRequestURI().getPath()) {
      case "/echo" -> {
        exchange.getResponseHeaders().set("X-Method", exchange.getRequestMethod());
        exchange.getResponseHeaders().set("X-Length", String.valueOf(body.length));
        answer(exchange, 200, body);
      }
      case "/pieces" -> {
        exchange.sendResponseHeaders(200, 0);
        for (int index = 0; index < 5; index++) {
          exchange.getResponseBody().write(("piece " + index + "\n").getBytes(StandardCharsets.US_ASCII));
          exchange.getResponseBody().flush();
        }
        exchange.close();
      }
      case "/big" -> answer(exchange, 200, "0123456789".repeat(200_000).getBytes(StandardCharsets.US_ASCII));
      case "/empty" -> answer(exchange, 204, new byte[0]);
      case "/moved" -> {
        exchange.getResponseHeaders().set("Location", "/echo");
        answer(exchange, 302, new byte[0]);
      }
      default -> answer(exchange, 404, "none\n".getBytes(StandardCharsets.US_ASCII));
    }
  }

  public static void main(String[] args) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 100);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", Backend::serve);
    server.start();
  }
}
